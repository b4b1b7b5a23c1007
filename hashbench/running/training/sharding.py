"""Encoders that do not fit one card: each device holds a part of every layer (FSDP2, `torch.distributed.fsdp`).

Layers alone are shared out: they are most of a large model. Embedding, head and norms stay whole on every device, and
their gradients are averaged as DDP would.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.utils import clip_grads_with_norm_, get_total_norm


class Sharding:
    """The encoder layers of a module, sharded over devices for a training and made whole after it."""

    def __init__(self, module: nn.Module, parts: Iterable[nn.Module], mesh: DeviceMesh) -> None:
        # The encoders' layers return views in evaluations, and nothing writes into them.
        warnings.filterwarnings("ignore", "FSDP2-wrapped module", UserWarning)
        names = {part: name for name, part in module.named_modules()}
        self._module, self._whole = module, {names[part]: part for part in parts}
        for name, part in self._whole.items():
            twin = copy.deepcopy(part)  # a module that was shared out once stays so
            fully_shard(twin, mesh=mesh)
            module.set_submodule(name, twin)

    def end(self) -> None:
        """Replaces the sharded layers by whole ones with the trained weights; all devices must call it."""
        for name, part in self._whole.items():
            part.load_state_dict(whole_state(self._module.get_submodule(name)))
            self._module.set_submodule(name, part)


def whole(tensor: Tensor) -> Tensor:
    """The whole of a tensor, of any shape, on this device. For a sharded tensor all devices must call it."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def whole_state(module: nn.Module) -> dict[str, Tensor]:
    """The weights of a module by name, sharded ones whole. All devices must call it."""
    return {name: whole(tensor) for name, tensor in module.state_dict().items()}


def average_whole_gradients(module: nn.Module) -> None:
    """Averages over devices the gradients that FSDP does not: those of parameters that every device has whole."""
    gradients = [p.grad for p in module.parameters() if p.grad is not None and not isinstance(p.grad, DTensor)]
    for gradient in gradients:
        torch.distributed.all_reduce(gradient)
        gradient /= torch.distributed.get_world_size()


def clip_norm(parameters: Sequence[nn.Parameter], limit: float) -> None:
    """Scales the gradients so that the norm of all of them is at most `limit`."""
    groups = [group for group in by_kind(parameters).values() if group]
    norms = [whole(get_total_norm([p.grad for p in group if p.grad is not None])) for group in groups]
    norm = norms[0] if len(norms) == 1 else torch.linalg.vector_norm(torch.stack(norms))
    if norm.device.type == "cpu" and norm <= limit:
        return  # the factor would be 1; on a GPU asking would cost a wait
    for group in groups:
        clip_grads_with_norm_(group, limit, norm)


def by_kind(parameters: Iterable[nn.Parameter]) -> Mapping[bool, list[nn.Parameter]]:
    """Parameters that are whole (under False) and sharded (under True); one kernel takes no mixture of both."""
    kinds: dict[bool, list[nn.Parameter]] = {False: [], True: []}
    for parameter in parameters:
        kinds[isinstance(parameter, DTensor)].append(parameter)
    return kinds
