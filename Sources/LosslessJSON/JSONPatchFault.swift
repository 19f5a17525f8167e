/// Why a patch can't be read, or was not applied. The text is as it was.
public struct JSONPatchFault: Error, Equatable, Sendable {
    public enum Reason: Equatable, Sendable {
        /// The patch itself: what is wrong with it, and what to do.
        case malformed(String)
        /// There is another value at this place, or none.
        case testFailed(JSONPointer)
        /// There is no such place, two members of one name on the way to it, or the document would grow too large.
        case edit(JSONEditFault)
        /// A move of the value at this place to a place within it.
        case moveIntoItself(JSONPointer)
    }

    /// Position of the operation in the patch, from 0; nil if the patch is no list of operations at all.
    public let operation: Int?
    public let reason: Reason

    public init(_ reason: Reason, at operation: Int?) {
        self.operation = operation
        self.reason = reason
    }
}

extension JSONPatchFault: CustomStringConvertible {
    /// What is wrong and where. Names places of the document, but shows no values.
    public var description: String {
        guard let operation else { return reason.description }
        return "operation \(operation): \(reason)"
    }
}

extension JSONPatchFault.Reason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .malformed(let what): what
        case .testFailed(let pointer): "the document does not have the tested value at '\(pointer)'"
        case .edit(.noSuchPlace(let pointer)) where pointer.tokens.isEmpty: "the whole document can't be removed"
        case .edit(.invalidValue(let fault)): "what would come out is refused: \(fault)"
        case .edit(let fault): fault.description
        case .moveIntoItself(let pointer): "the value at '\(pointer)' can't be moved to a place within itself"
        }
    }
}
