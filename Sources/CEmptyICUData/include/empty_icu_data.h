// Nothing to call: the target only defines what the linker would otherwise take from Foundation.
