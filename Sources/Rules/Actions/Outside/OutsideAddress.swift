/// An `http` or `https` URL of a rule file. Scheme, host and port are literal, so a document can't choose the server.
struct OutsideAddress: Sendable, Equatable {
    /// Scheme, host and port, without a slash at the end: `https://example.org:8443`. In lower case.
    let origin: String
    /// Path and query; begins with `/`.
    let path: String

    /// The message says what is wrong with the URL, and what to do.
    struct InvalidURL: Error {
        let message: String
    }

    /// - Throws: ``InvalidURL``.
    init(_ text: String) throws(InvalidURL) {
        let schemes = ["https://", "http://"]
        guard let scheme = schemes.first(where: { text.lowercased().hasPrefix($0) }) else {
            let isHost = text.prefixMatch(of: /[\w.-]+(:\d+)?(\/|$)/) != nil
            throw InvalidURL(
                message: "'url' must begin with https:// or http://; write "
                    + (isHost ? "http://\(DisplayText.plain(text))" : "https://HOST/PATH"))
        }
        let rest = text.dropFirst(scheme.count)
        let authority = rest.prefix { !"/?#".contains($0) }
        let path = rest.dropFirst(authority.count)
        if authority.contains("@") {
            throw InvalidURL(
                message: "'url' must not contain a user or password; write user and password_file, or token_file")
        }
        if path.contains("#") {
            throw InvalidURL(message: "'url' has a fragment, which is never sent; remove '#' and what follows")
        }
        guard let place = Self.place(authority.lowercased()) else {
            throw InvalidURL(
                message: "'url' has no valid host and port ('\(DisplayText.plain(String(authority)))'); "
                    + "write https://HOST:PORT/PATH")
        }
        origin = scheme + place
        self.path = path.hasPrefix("/") ? String(path) : "/" + path
        if let character = URIText.firstInvalidInPath(self.path) {
            if let remedy = Self.remedy(ofTemplate: self.path) {
                throw InvalidURL(
                    message:
                        "'url' is plain text, and placeholders in it are not filled in; end it before the path, and "
                        + "compute the rest: \(remedy)")
            }
            throw InvalidURL(
                message: "'url' can't contain the character '\(DisplayText.plain(character))'; percent-encode it")
        }
    }

    /// Host and port, if they are valid.
    private static func place(_ authority: String) -> String? {
        var rest = authority[...]
        let host: Substring
        if rest.hasPrefix("[") {
            guard let end = rest.firstIndex(of: "]") else { return nil }
            host = rest[...end]
            guard host.count > 4,
                host.dropFirst().dropLast().utf8.allSatisfy({ "0123456789abcdef:.".utf8.contains($0) })
            else { return nil }
        } else {
            host = rest.prefix { $0 != ":" }
            guard !host.isEmpty, !host.hasPrefix("."), !host.hasPrefix("-"),
                host.utf8.allSatisfy({ "0123456789abcdefghijklmnopqrstuvwxyz-._".utf8.contains($0) })
            else { return nil }
        }
        rest = rest.dropFirst(host.count)
        if rest.isEmpty { return String(host) }
        guard rest.hasPrefix(":"), rest.dropFirst().utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = UInt16(rest.dropFirst()), port > 0
        else { return nil }
        return "\(host):\(port)"
    }

    /// Why a literal path can't be used. Nil if it can.
    static func error(inLiteralPath path: String) -> String? {
        guard let error = error(inPath: path) else { return nil }
        return remedy(ofTemplate: path).map {
            "'path' is plain text, and placeholders in it are not filled in; write \($0)"
        } ?? error
    }

    /// What to write for a path with placeholders. Nil if it has none.
    private static func remedy(ofTemplate path: String) -> String? {
        guard ForgottenTemplate.hasPlaceholder(path) else { return nil }
        return "path: { jq: '\(ForgottenTemplate.pathProgram(path) ?? "\"/\\(._id | @uri)\"")' }"
    }

    /// Why a document can't choose this path. Nil if it can.
    static func error(inPath path: String) -> String? {
        guard path.hasPrefix("/") else {
            return "the path must begin with '/'; it is '\(DisplayText.plain(path))'"
        }
        if let character = URIText.firstInvalidInPath(path) {
            return "the path can't contain the character '\(DisplayText.plain(character))'; "
                + "encode values from the document with @uri"
        }
        let segments = path.prefix { $0 != "?" }.lowercased().split(separator: "/")
        let hasDotSegments = segments.contains { segment in
            [".", "..", "%2e", "%2e%2e", ".%2e", "%2e."].contains(String(segment))
        }
        return hasDotSegments ? "the path can't contain the segments '.' and '..', which lead to other paths" : nil
    }
}
