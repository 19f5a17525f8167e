/// Why a patch could not be read or applied. The document is unchanged.
public struct JSONPatchError: Error, Equatable, Sendable {
    /// What is wrong with the patch, or with the document that it was applied to.
    public enum Reason: Equatable, Sendable {
        /// The patch is not valid. The string says what is wrong and what to do.
        case malformed(String)
        /// A `test` found a different value at this place, or none.
        case testFailed(JSONPointer)
        /// The place does not exist, an object on the path has duplicate members, or the document would become too
        /// large.
        case edit(JSONEditError)
        /// A `move` of the value at this place to a place inside it.
        case moveIntoItself(JSONPointer)
    }

    /// Position of the operation in the patch, from 0. Nil if the patch is not a list of operations.
    public let operation: Int?
    /// Why this operation failed.
    public let reason: Reason

    /// - Parameter operation: Position in the patch, from 0. Nil for the patch as a whole.
    public init(_ reason: Reason, at operation: Int?) {
        self.operation = operation
        self.reason = reason
    }
}

extension JSONPatchError: CustomStringConvertible {
    /// What is wrong and where; the first operation is number 1. Contains pointers into the document but none of its values.
    public var description: String {
        guard let operation else { return reason.description }
        return "operation \(operation + 1): \(reason)"
    }
}

extension JSONPatchError.Reason: CustomStringConvertible {
    /// The error without the number of its operation.
    public var description: String {
        switch self {
        case .malformed(let what): what
        case .testFailed(let pointer): "the document does not have the tested value at '\(pointer)'"
        case .edit(.noSuchPlace(let pointer)) where pointer.tokens.isEmpty: "the whole document can't be removed"
        case .edit(.invalidValue(let error)): "the result would be refused: \(error)"
        case .edit(let error): error.description
        case .moveIntoItself(let pointer): "the value at '\(pointer)' can't be moved into itself"
        }
    }
}
