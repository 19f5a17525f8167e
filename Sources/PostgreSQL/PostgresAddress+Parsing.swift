/// Why a text is not the address of a database.
package struct PostgresAddressError: Error, Sendable, Equatable, CustomStringConvertible {
    /// One line for the user: the cause and the remedy. Does not quote anything that could be part of a password.
    package let description: String

    static let shape = PostgresAddressError(
        description: "give the database as postgres://[USER@]HOST[:PORT]/DATABASE or postgres:///DATABASE?host=/FOLDER")
    static let password = PostgresAddressError(
        description: "the address of a database must not contain a password, because other users can see it: use "
            + "CHANGEBOT_ENGINE_PASSWORD, CHANGEBOT_ENGINE_PASSWORD_FILE or a .pgpass file. "
            + "Write an @ in another part as %40")
}

extension PostgresAddress {
    /// - Throws: ``PostgresAddressError``.
    package init(_ text: String) throws(PostgresAddressError) {
        guard let scheme = ["postgres://", "postgresql://"].first(where: text.hasPrefix) else { throw .shape }
        let rest = text.dropFirst(scheme.utf8.count)
        // Up to the last @, so that no part of an unencoded password is mistaken for another part and printed.
        let end = rest.lastIndex(of: "@")
        let login = end.map { rest[..<$0] }
        if login?.contains(":") == true { throw .password }
        let parts = (end.map { rest[rest.index(after: $0)...] } ?? rest).split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let slash = parts[0].firstIndex(of: "/") else { throw .shape }

        var options = try Self.query(parts.count == 2 ? parts[1] : "")
        let (names, ports) = (options.removeValue(forKey: "host"), options.removeValue(forKey: "port"))
        hosts = try Self.hosts(parts[0][..<slash], names, ports)
        user = try login.map { part throws(PostgresAddressError) in try Self.decoded(part, "user") }
        let path = parts[0][parts[0].index(after: slash)...]
        if path.contains("/") { throw .init(description: "write a / in the name of a database as %2F") }
        database = try Self.decoded(path, "database")
        self.options = options
        if user == "" || database == "" { throw .shape }
    }

    // MARK: - Hosts

    private static func hosts(
        _ authority: Substring, _ names: String?, _ ports: String?
    ) throws(PostgresAddressError) -> [Host] {
        guard authority.isEmpty else {
            if names != nil || ports != nil {
                throw .init(description: "write the hosts and ports either before the database name or in the query")
            }
            var hosts: [Host] = []
            for part in authority.split(separator: ",", omittingEmptySubsequences: false) {
                try hosts.append(host(part))
            }
            return hosts
        }
        let names = names?.split(separator: ",", omittingEmptySubsequences: false) ?? []
        let ports = ports?.split(separator: ",", omittingEmptySubsequences: false) ?? ["\(defaultPort)"]
        if names.isEmpty { throw .shape }
        if ports.count != 1 && ports.count != names.count {
            throw .init(description: "give one port for all hosts, or one for each")
        }
        var hosts: [Host] = []
        for (number, name) in names.enumerated() {
            let isBracketed = name.hasPrefix("[") && name.hasSuffix("]")
            let name = try checked(String(isBracketed ? name.dropFirst().dropLast() : name))
            try hosts.append(Host(name: name, port: port(ports.count == 1 ? ports[0] : ports[number])))
        }
        return hosts
    }

    private static func host(_ text: Substring) throws(PostgresAddressError) -> Host {
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            let name = String(text[text.index(after: text.startIndex)..<end])
            guard name.contains(":") else { throw .init(description: "only IPv6 addresses may be in brackets") }
            let rest = text[text.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { throw .shape }
            return Host(name: try checked(name), port: rest.isEmpty ? defaultPort : try port(rest.dropFirst()))
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2 else {
            throw .init(description: "write an IPv6 address in brackets: postgres://[::1]/DATABASE")
        }
        let name = try checked(decoded(parts[0], "host"))
        return Host(name: name, port: parts.count == 2 ? try port(parts[1]) : defaultPort)
    }

    /// An invalid name is not quoted in the message: it may be part of a password.
    private static func checked(_ name: String) throws(PostgresAddressError) -> String {
        if name.hasPrefix("/") || NumericAddress(name) != nil { return name }
        let isName =
            !name.isEmpty
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
        guard isName else { throw .init(description: "the address of the database contains an invalid host name") }
        return name
    }

    private static func port(_ text: Substring) throws(PostgresAddressError) -> Int {
        guard text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }), let port = UInt16(text), port > 0
        else { throw .init(description: "the port of the database must be a number from 1 to 65535") }
        return Int(port)
    }

    // MARK: - The query

    private static let keys: Set = [
        "channel_binding", "host", "passfile", "port", "sslcert", "sslcrl", "sslkey", "sslmode", "sslrootcert",
        "target_session_attrs",
    ]

    private static func query(_ text: Substring) throws(PostgresAddressError) -> [String: String] {
        var options: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let key = try decoded(parts[0], "query")
            if ["password", "sslpassword"].contains(key.lowercased()) { throw .password }
            guard keys.contains(key) else {
                let known = keys.sorted().joined(separator: ", ")
                throw .init(description: "the address of a database has the unknown key \(key); the keys are: \(known)")
            }
            let value = parts.count == 2 ? try decoded(parts[1], key) : ""
            if value.isEmpty { throw .init(description: "\(key) in the address of the database needs a value") }
            guard options.updateValue(value, forKey: key) == nil else {
                throw .init(description: "the address of the database has \(key) twice")
            }
        }
        try check(options, "sslmode", TLSMode.allCases.map(\.rawValue))
        try check(options, "channel_binding", ["disable", "prefer", "require"])
        try check(options, "target_session_attrs", ["read-write", "primary", "any"])
        return options
    }

    private static func check(
        _ options: [String: String], _ key: String, _ values: [String]
    ) throws(PostgresAddressError) {
        guard let value = options[key], !values.contains(value) else { return }
        throw .init(
            description: "\(key) in the address of the database must be one of: \(values.joined(separator: ", "))")
    }

    // MARK: - Percent-encoding

    private static func decoded(_ text: Substring, _ part: String) throws(PostgresAddressError) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            guard digits.count == 2, digits.first != UInt8(ascii: "+"), let value = UInt8(Substring(digits), radix: 16)
            else { throw .init(description: "write a % in the \(part) of the database's address as %25") }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        guard let decoded = String(validating: bytes, as: UTF8.self),
            decoded.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else {
            throw .init(description: "the \(part) of the database's address is not UTF-8")
        }
        return decoded
    }
}
