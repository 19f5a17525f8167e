/// How a process obtains an access token. Equal values share one ``AccessTokenSource`` in a process.
package enum TokenMethod: Sendable, Hashable {
    /// A client that identifies itself with its own secret.
    ///
    /// - Note: Source: RFC 6749, section 4.4.
    case clientCredentials(ClientCredentials)
    /// An API key of IBM Cloud, exchanged for a token.
    ///
    /// - Note: Source: IBM Cloud docs, "Generating an IBM Cloud IAM token by using an API key".
    case apiKey(APIKey)
    /// A command that prints the token.
    case command(TokenCommand)

    package struct ClientCredentials: Sendable, Hashable {
        /// Where the client sends its secret: in the `Authorization` header, or in the form.
        ///
        /// - Note: Source: RFC 6749, section 2.3.1.
        package enum Form: String, Sendable, CaseIterable { case basic, body }

        package let server: TokenServer
        package let clientID: String
        package let secret: TokenSecret
        /// Nil: the server's default.
        package let scope: String?
        /// The API that the token is for, as Auth0 needs it. Nil: the server's default.
        package let audience: String?
        package let form: Form

        /// Stores the values unchanged.
        package init(
            server: TokenServer, clientID: String, secret: TokenSecret, scope: String?, audience: String? = nil,
            form: Form
        ) {
            (self.server, self.clientID, self.secret) = (server, clientID, secret)
            (self.scope, self.audience, self.form) = (scope, audience, form)
        }
    }

    package struct APIKey: Sendable, Hashable {
        /// Of the public cloud.
        package static let usualURL = "https://iam.cloud.ibm.com/identity/token"

        package let server: TokenServer
        package let key: TokenSecret

        /// Stores the values unchanged.
        package init(server: TokenServer, key: TokenSecret) { (self.server, self.key) = (server, key) }
    }

    /// The file with its secret. Nil if there is none.
    package var secretFile: String? {
        let secret: TokenSecret
        switch self {
        case .clientCredentials(let client): secret = client.secret
        case .apiKey(let key): secret = key.key
        case .command: return nil
        }
        if case .file(let path) = secret { return path } else { return nil }
    }
}

/// The server that gives out tokens.
package struct TokenServer: Sendable, Hashable {
    /// `https://` or `http://`, without user info.
    package let url: String
    /// A PEM file with the authorities to trust instead of the system's.
    package let caFile: String?

    /// Stores the values unchanged.
    package init(url: String, caFile: String? = nil) { (self.url, self.caFile) = (url, caFile) }

    /// Whether requests can be sent to this URL: `http` or `https`, a host, and neither user info nor a fragment.
    package static func isValid(_ url: String) -> Bool {
        guard let scheme = ["https://", "http://"].first(where: { url.lowercased().hasPrefix($0) }),
            url.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !url.contains("#")
        else { return false }
        let authority = url.dropFirst(scheme.count).prefix { !"/?".contains($0) }
        return !authority.isEmpty && !authority.contains("@")
    }

    /// The URL without its query, for messages.
    var place: String { String(url.prefix { $0 != "?" }) }
}

/// A program that prints a token, with its arguments.
package struct TokenCommand: Sendable, Hashable {
    /// The first one is the program: a path, or a name in `PATH`. Not empty.
    let words: [String]
    /// The program for messages. Arguments are not shown: they may hold secrets.
    let place: String

    /// A program that is started without a shell.
    package init(_ words: [String]) { (self.words, place) = (words, words[0]) }

    /// A line for `/bin/sh`.
    package init(shell line: String) {
        words = ["/bin/sh", "-c", line]
        place = String(line.prefix { !$0.isWhitespace })
    }
}

extension TokenCommand: CustomStringConvertible, CustomReflectable {
    package var description: String { place }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A secret, or the file that holds it. Printing it shows no secret.
package enum TokenSecret: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    case text(String)
    /// A path. The file is read for each request.
    case file(String)

    /// The maximum number of bytes of a file.
    private static let lengthLimit = 64 << 10

    package var description: String {
        switch self {
        case .text: "secret"
        case .file(let path): "secret in \(path)"
        }
    }

    package var customMirror: Mirror { Mirror(self, children: [:]) }

    /// The secret without space at its ends. Blocks.
    ///
    /// - Parameter what: Its name for messages, such as `client secret`.
    /// - Throws: ``TokenError`` with `.unavailable` if the file can't be used: it may be about to be replaced.
    func read(_ what: String) throws(TokenError) -> String {
        guard case .file(let path) = self else {
            if case .text(let text) = self { return text }
            return ""
        }
        guard let bytes = SecretFileBytes.read(path, limit: Self.lengthLimit),
            let text = String(validating: bytes, as: UTF8.self)
        else {
            throw TokenError(
                .unavailable, "can't read the \(what) file \(path); correct the path or its permissions")
        }
        let content = text.drop(while: \.isWhitespace)
        let end = content.lastIndex { !$0.isWhitespace }.map { content.index(after: $0) } ?? content.startIndex
        guard end > content.startIndex else {
            throw TokenError(.unavailable, "the \(what) file \(path) is empty; write the \(what) into it")
        }
        return String(content[..<end])
    }
}
