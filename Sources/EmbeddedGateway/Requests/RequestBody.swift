internal import HTTPServing
internal import LosslessJSON

extension Request {
    /// The body as a JSON object.
    ///
    /// - Throws: ``RequestError`` 400 or 415, with the real gateway's reasons.
    func object() throws(RequestError) -> JSONValue {
        if let type = field("Content-Type")?.prefix(while: { $0 != ";" }), type.lowercased() != "application/json" {
            throw RequestError(415, "Invalid content type \(type)")
        }
        return try Self.object(body)
    }

    /// The body of a `POST` with several documents, or requests for documents, in `docs`.
    ///
    /// - Throws: ``RequestError`` 405 for other methods, 400, or 415.
    func documents() throws(RequestError) -> (body: JSONValue, documents: JSONValue) {
        guard method == "POST" else { throw .methodNotAllowed("POST") }
        let body = try object()
        guard let documents = body["docs"], documents.kind == .array else {
            throw RequestError(400, "missing 'docs' property")
        }
        return (body, documents)
    }

    /// The body as a document, with its attachments if it is multipart.
    func document() throws(RequestError) -> (object: JSONValue, following: [[UInt8]: [UInt8]]) {
        guard let type = field("Content-Type"), type.lowercased().hasPrefix("multipart/related") else {
            return (try object(), [:])
        }
        return try MultipartDocument.read(body, contentType: type, object: Self.object)
    }

    private static func object(_ text: [UInt8]) throws(RequestError) -> JSONValue {
        let value: JSONValue
        do { value = try JSONText(text).root } catch {
            throw RequestError(400, "Bad JSON: \(GoJSON.decoderError(error, in: text))")
        }
        guard value.kind == .object else {
            throw RequestError(
                400, "Bad JSON: json: cannot unmarshal \(GoJSON.name(of: value)) into Go value of type db.Body")
        }
        return value
    }
}

/// The messages of Go's `encoding/json`, for the reasons of 400 answers.
enum GoJSON {
    /// The message of its `Decoder`, for documents.
    static func decoderError(_ error: JSONError, in text: [UInt8]) -> String {
        if text.isEmpty { return "EOF" }
        return error.reason == .unexpectedEnd ? "unexpected EOF" : syntaxError(error)
    }

    /// The message of `Unmarshal`, for `_changes`.
    static func unmarshalError(_ error: JSONError) -> String {
        error.reason == .unexpectedEnd ? "unexpected end of JSON input" : syntaxError(error)
    }

    private static func syntaxError(_ error: JSONError) -> String {
        guard case .unexpectedByte(let byte, let expected) = error.reason else { return error.description }
        let character = Character(Unicode.Scalar(byte))
        return "invalid character '\(character)' \(place(expected))"
    }

    private static func place(_ expected: JSONError.Expectation) -> String {
        switch expected {
        case .value, .valueOrEndOfArray, .completeRow: "looking for beginning of value"
        case .memberName, .memberNameOrEnd: "looking for beginning of object key string"
        case .colon: "after object key"
        case .commaOrEndOfObject: "after object key:value pair"
        case .commaOrEndOfArray: "after array element"
        case .digit: "in numeric literal"
        case .literal: "in literal"
        case .endOfText: "after top-level value"
        }
    }

    /// Go's name for the kind of a value.
    static func name(of value: JSONValue) -> String {
        switch value.kind {
        case .true, .false: "bool"
        default: value.kind.name
        }
    }
}
