internal import Encodings
internal import LosslessJSON

/// A file with the text of a webhook's body: the key `body_file`. Its `\(PROGRAM)` parts are computed by jq for each
/// document, as in a string of jq.
///
/// The ending of the file's name decides how computed values are written: `.json` as JSON, `.xml` and `.html` with
/// their reserved characters escaped, other files as plain text.
struct BodyFile: Sendable {
    enum Form: Sendable, Equatable {
        case json, markup, text
    }

    private enum Part: Sendable {
        case literal(String)
        /// - Parameters:
        ///   - index: In ``BodyFile/programs``.
        ///   - isInString: Whether it is part of a JSON string.
        case computed(index: Int, isInString: Bool)
    }

    /// The maximum number of bytes of a file.
    private static let lengthLimit = 1 << 20

    let form: Form
    /// The media type, unless the rule sets another one.
    let contentType: String
    /// The programs of the computed parts, as indexes in the ``ProgramList``.
    let programs: [Int]
    /// SHA-256 of the file, in hexadecimal.
    let sha256: String
    private let parts: [Part]

    /// Nil, with errors, if the file can't be used.
    ///
    /// - Parameter node: The value of `body_file`.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        guard case .string(let path) = node.content, !path.isEmpty else {
            reading.errors.reportKind(of: node, "'body_file' must be the path of a file", remedy: "put it in quotes")
            return nil
        }
        (form, contentType) = Self.kind(of: path)
        guard let (text, hash) = Self.read(path, node, reading) else { return nil }
        sha256 = hash
        var scan = BodyFileScan(text, tracksStrings: form == .json)
        var parts: [Part] = []
        var programs: [Int] = []
        while let piece = scan.next() {
            switch piece {
            case .literal(let text): parts.append(.literal(text))
            case .program(let text, let line, let column, let isInString):
                let place = BodyFilePlace(path: path, line: line, column: column)
                parts.append(.computed(index: programs.count, isInString: isInString))
                programs.append(reading.program(text, in: place, of: node))
            }
        }
        (self.parts, self.programs) = (parts, programs)
        // If no files are read, the text is empty.
        guard form == .json, !reading.files.areUnread, let error = jsonError() else { return }
        reading.errors.report(
            at: node.position,
            "body_file: '\(DisplayText.plain(path))' is not JSON\(programs.isEmpty ? "" : " around its programs"): "
                + "\(error); correct it, or give the file another ending")
        return nil
    }

    /// The text of the file and its SHA-256. Nil, with an error, if it can't be used.
    private static func read(_ path: String, _ node: SourceNode, _ reading: RuleReading) -> (String, String)? {
        func refuse(_ what: String) -> (String, String)? {
            reading.errors.report(at: node.position, "body_file: \(what)")
            return nil
        }
        let content: AttachmentContent
        do throws(FileError) { content = try reading.files.content(path, isAttached: false) } catch {
            return refuse("\(error)")
        }
        guard content.length <= lengthLimit else {
            return refuse("'\(DisplayText.plain(path))' is larger than 1 MiB; make it smaller")
        }
        guard let text = String(validating: (try? Base64.decode(content.base64)) ?? [], as: UTF8.self) else {
            return refuse("'\(DisplayText.plain(path))' is not UTF-8; save it as UTF-8")
        }
        return (text, content.sha256)
    }

    private static func kind(of path: String) -> (Form, contentType: String) {
        let name = path.lowercased()
        func has(_ endings: String...) -> Bool { endings.contains { name.hasSuffix($0) } }
        if has(".json") { return (.json, "application/json") }
        if has(".xml") { return (.markup, "application/xml") }
        if has(".html", ".htm") { return (.markup, "text/html; charset=utf-8") }
        return (.text, "text/plain; charset=utf-8")
    }

    /// What is wrong with the JSON around the programs. Nil if it is valid.
    private func jsonError() -> JSONError? {
        let text = parts.map { part in
            switch part {
            case .literal(let text): text
            case .computed(_, let isInString): isInString ? "" : "null"
            }
        }
        do throws(JSONError) { _ = try JSONText(Array(text.joined().utf8)) } catch { return error }
        return nil
    }

    // MARK: - One document

    /// The text for a document.
    ///
    /// - Parameter outputs: For each of ``programs``, its outputs.
    func text(_ outputs: [[JSONText]]) throws(ActionError) -> String {
        var text = ""
        for part in parts {
            switch part {
            case .literal(let literal): text += literal
            case .computed(let index, let isInString):
                let values = outputs[index]
                guard values.count <= 1 else {
                    throw .failed("body_file: a program gives \(values.count) values; it must give one")
                }
                text += try written(values.first?.root, isInString: isInString)
            }
        }
        return text
    }

    /// - Parameter value: Nil if the program has no output.
    private func written(_ value: JSONValue?, isInString: Bool) throws(ActionError) -> String {
        let json = value.map { String(decoding: $0.bytes, as: UTF8.self) } ?? "null"
        if form == .json, !isInString { return json }
        guard let value, value.kind != .null else { return "" }
        let plain = value.string ?? json
        switch form {
        case .json:
            var writer = JSONWriter()
            writer.string(plain)
            return String(decoding: writer.bytes.dropFirst().dropLast(), as: UTF8.self)
        case .markup: return try Self.escaped(plain)
        case .text: return plain
        }
    }

    /// - Note: Source: XML 1.0, sections 2.2 and 2.4.
    private static func escaped(_ text: String) throws(ActionError) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            case "\t", "\n", "\r": escaped.unicodeScalars.append(scalar)
            case _ where scalar.value < 0x20 || scalar.value == 0xFFFE || scalar.value == 0xFFFF:
                throw .failed("body_file: a program gives a control character, which XML can't contain; remove it")
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

/// The position of a program in a file of `body_file`.
struct BodyFilePlace: Sendable {
    /// As in the rule file.
    let path: String
    /// Of the program's first character, from 1.
    let line: Int
    /// From 1, in Unicode scalars.
    let column: Int
}

/// Splits a text into literal parts and programs: `\(PROGRAM)`. A doubled backslash before a parenthesis stands for
/// itself.
struct BodyFileScan {
    enum Piece: Equatable {
        case literal(String)
        case program(String, line: Int, column: Int, isInString: Bool)
    }

    private let scalars: [Unicode.Scalar]
    private let tracksStrings: Bool
    private var at = 0
    private var isInString = false
    private var line = 1
    private var column = 1

    /// - Parameter tracksStrings: Whether the text is JSON, so that parts inside strings are recognised.
    init(_ text: String, tracksStrings: Bool) {
        scalars = Array(text.unicodeScalars)
        self.tracksStrings = tracksStrings
    }

    /// Nil at the end.
    mutating func next() -> Piece? {
        guard at < scalars.count else { return nil }
        if scalar(at) == "\\", scalar(at + 1) == "(" { return program() }
        var text = String.UnicodeScalarView()
        while at < scalars.count {
            guard scalars[at] == "\\" else {
                if tracksStrings, scalars[at] == "\"" { isInString.toggle() }
                text.append(take())
                continue
            }
            if scalar(at + 1) == "(" { break }
            // A JSON text keeps all its escapes.
            let isEscaped = scalar(at + 1) == "\\" && scalar(at + 2) == "("
            if isEscaped, !tracksStrings { _ = take() } else { text.append(take()) }
            if isEscaped || tracksStrings && isInString, at < scalars.count { text.append(take()) }
            // The parenthesis after a doubled backslash begins no program.
            if isEscaped { text.append(take()) }
        }
        return .literal(String(text))
    }

    private mutating func program() -> Piece {
        at += 2
        column += 2
        let end = ProgramTokens.endOfGroup(at, in: scalars)
        let place = (line, column)
        var text = String.UnicodeScalarView()
        while at < end {
            let scalar = take()
            if at < end || scalar != ")" { text.append(scalar) }
        }
        return .program(String(text), line: place.0, column: place.1, isInString: isInString)
    }

    private func scalar(_ index: Int) -> Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }

    private mutating func take() -> Unicode.Scalar {
        let scalar = scalars[at]
        at += 1
        if scalar == "\n" { (line, column) = (line + 1, 1) } else { column += 1 }
        return scalar
    }
}
