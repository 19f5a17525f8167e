internal import Encodings
internal import LosslessJSON

/// The names of the `_local` documents in which a replication records its progress.
///
/// The name depends on both ends and on the selection. Jobs with different selections therefore do not share a
/// document.
package struct ReplicationID: Sendable, Equatable {
    /// The properties of an end that its name depends on.
    package struct End: Sendable {
        /// The URL without credentials, or `embedded:` and the file's path: the port of an embedded gateway changes.
        package let address: String
        package let user: String?

        package init(address: String, user: String?) {
            self.address = address
            self.user = user
        }
    }

    /// The replication's own name.
    package let name: String

    /// - Parameter selection: The text of the replication's filters; empty for all documents.
    package init(from source: End, to target: End, selection: String = "") {
        let parts = [source.address, target.address, selection]
        name = "changebot-replicate-" + Digest.sha256.hex(Array(parts.joined(separator: "\n").utf8)).prefix(32)
    }

    /// The name that CouchDB 3.5's own replicator gives the same job, for all documents (version 4 of its names): an
    /// MD5 digest of the ends in Erlang's external form.
    ///
    /// - Parameter server: The `uuid` of the CouchDB on which the replicator runs.
    /// - Returns: Nil if an end has no URL.
    /// - Note: Source: `couch_replicator_ids.erl`.
    package static func ofCouchDB(server: String, from source: End, to target: End) -> String? {
        guard let source = term(source), let target = term(target) else { return nil }
        var bytes: [UInt8] = [131]
        bytes += ErlangTerm.list([.binary(server), source, target]).bytes
        return Digest.md5.hex(bytes)
    }

    /// `{remote, User, Host, Port, Path, Headers, OAuth}`
    private static func term(_ end: End) -> ErlangTerm? {
        guard let scheme = end.address.firstRange(of: "://") else { return nil }
        let rest = end.address[scheme.upperBound...]
        let authority = rest.prefix { $0 != "/" }
        let path = rest[authority.endIndex...]
        let isSecure = end.address.hasPrefix("https:")
        var (host, port) = (authority, isSecure ? 443 : 80)
        if let colon = authority.lastIndex(of: ":"), let number = Int(authority[authority.index(after: colon)...]) {
            (host, port) = (authority[..<colon], number)
        }
        let isDefaultPort = isSecure ? port == 443 : port == 80 || port == 5984
        return .tuple([
            .atom("remote"), end.user.map { .string($0) } ?? .atom("undefined"), .string(String(host)),
            isDefaultPort ? .atom("default") : .integer(port), .string(String(path) + (path.hasSuffix("/") ? "" : "/")),
            .list([]), .atom("undefined"),
        ])
    }
}

/// A value in Erlang's external form, as `term_to_binary(Term, [{minor_version, 1}])` writes it.
///
/// - Note: Source: "External Term Format" in the documentation of Erlang.
private enum ErlangTerm {
    case atom(String)
    case binary(String)
    case integer(Int)
    /// A list of characters.
    case string(String)
    case list([ErlangTerm])
    case tuple([ErlangTerm])

    var bytes: [UInt8] {
        switch self {
        case .atom(let name): [100] + Self.big(name.utf8.count, 2) + name.utf8
        case .binary(let text): [109] + Self.big(text.utf8.count, 4) + text.utf8
        case .integer(let number) where (0...255).contains(number): [97, UInt8(number)]
        case .integer(let number): [98] + Self.big(number, 4)
        case .string(""): [106]
        case .string(let text): [107] + Self.big(text.utf8.count, 2) + text.utf8
        case .list(let terms) where terms.isEmpty: [106]
        case .list(let terms): [108] + Self.big(terms.count, 4) + terms.flatMap(\.bytes) + [106]
        case .tuple(let terms): [104, UInt8(terms.count)] + terms.flatMap(\.bytes)
        }
    }

    private static func big(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
}
