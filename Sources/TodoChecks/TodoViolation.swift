package import LosslessJSON

/// Something in a document that the training app or its sync function would refuse.
package struct TodoViolation: Error, Hashable, Sendable, CustomStringConvertible {
    /// The invalid value; for a missing one, where it should be.
    package let pointer: JSONPointer
    /// The violation, on one line.
    package let message: String

    /// `/taskList/id must begin with the owner and a dot, "amy."`
    package var description: String { "\(pointer.tokens.isEmpty ? "the document" : "\(pointer)") \(message)" }
}
