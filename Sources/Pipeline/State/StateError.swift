/// Why a run can't have its state.
package enum StateError: Error, Sendable, CustomStringConvertible {
    /// Another run has it now.
    case locked(holder: String)
    /// It belongs to another gateway or keyspace.
    case foreign(path: String, recorded: String, actual: String)
    case cannotCreate(path: String, reason: String)
    /// Written by a newer changebot, or no state file at all.
    case unreadable(path: String, reason: String)
    case cannotWrite(path: String, reason: String)

    package var description: String {
        switch self {
        case .locked(let holder):
            "another run has this state: \(holder.isEmpty ? "its holder is not known" : holder); wait for it, or use another --name"
        case .foreign(let path, let recorded, let actual):
            "the state in \(path) belongs to \(recorded), not to \(actual); use another --name or --state"
        case .cannotCreate(let path, let reason): "can't create \(path): \(reason)"
        case .unreadable(let path, let reason): "can't use the state in \(path): \(reason)"
        case .cannotWrite(let path, let reason): "can't write \(path): \(reason)"
        }
    }
}
