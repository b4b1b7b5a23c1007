// Rows of the bytes of a word by their positions.
function bytePositions(values, read) {
  const { positions, ends } = values;
  const last = ends ? positions >> 1 : 0; // bytes that are kept of the end of a longer word
  const bytes = new TextEncoder();
  const continues = (byte) => (byte & 0xc0) === 0x80;
  return (token) => {
    let data = Array.from(bytes.encode(token));
    if (data.length > positions) {
      let [stop, start] = [positions - last, data.length - last];
      while (continues(data[stop])) stop--; // a character that is cut is left out
      while (start < data.length && continues(data[start])) start++;
      data = [...data.slice(0, stop), ...data.slice(start)];
    }
    const rows = data.map((byte, place) => byte * positions + place);
    return rows.concat(Array(positions - rows.length).fill(-1));
  };
}
