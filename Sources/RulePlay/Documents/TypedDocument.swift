internal import LosslessJSON

/// Reads a document that was typed in the page.
enum TypedDocument {
    /// - Parameter name: Such as `the document`, for messages.
    static func read(_ text: String, _ name: String) throws(Refusal) -> JSONText {
        guard text.utf8.count <= SampleStore.typedLimit else {
            throw Refusal(
                413, "\(name) is longer than \(SampleStore.typedLimit) bytes; start the command with --input FILE")
        }
        let bytes = Array(text.utf8)
        let document: JSONText
        do throws(JSONError) { document = try JSONText(bytes, limits: .files) } catch {
            let (line, column) = error.position(in: bytes.span)
            throw Refusal(422, "line \(line), column \(column) of \(name): not JSON: \(error); correct it there")
        }
        guard document.root.kind == .object else {
            throw Refusal(422, "\(name) must be a JSON object; begin it with {")
        }
        return document
    }
}
