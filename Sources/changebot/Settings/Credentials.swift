internal import FoundationEssentials
internal import GatewayClient

/// Credentials from the environment. There are no options for them, because every user of the machine can see argv.
enum Credentials {
    static let advice = "set CHANGEBOT_USER and CHANGEBOT_PASSWORD, or CHANGEBOT_TOKEN"

    /// - Throws: ``CommandError`` with 64 if variables contradict each other or one is missing, 66 if the password file
    ///   can't be read.
    static func find(_ environment: Environment) throws(CommandError) -> GatewayCredentials? {
        let user = environment.variable("CHANGEBOT_USER")
        let password = environment.variable("CHANGEBOT_PASSWORD")
        let file = environment.variable("CHANGEBOT_PASSWORD_FILE")
        if let token = environment.variable("CHANGEBOT_TOKEN") {
            let others = [("USER", user), ("PASSWORD", password), ("PASSWORD_FILE", file)]
            if let other = others.first(where: { $0.1 != nil })?.0 {
                throw CommandError(.usage, "CHANGEBOT_TOKEN and CHANGEBOT_\(other) are both set: unset one")
            }
            return .bearer(token: token)
        }
        if let user, user.contains(":") {
            throw CommandError(
                .usage,
                "CHANGEBOT_USER can't contain ':' (RFC 7617): write the user there alone, and the password into CHANGEBOT_PASSWORD"
            )
        }
        switch (user, password, file) {
        case (nil, nil, nil): return nil
        case (nil, _, _):
            throw CommandError(
                .usage, "a password is set, but no user: set CHANGEBOT_USER too, or unset the password")
        case (_, _?, _?):
            throw CommandError(.usage, "CHANGEBOT_PASSWORD and CHANGEBOT_PASSWORD_FILE are both set: unset one")
        case (_?, nil, nil):
            throw CommandError(
                .usage,
                "CHANGEBOT_USER is set, but no password: set CHANGEBOT_PASSWORD or CHANGEBOT_PASSWORD_FILE too, or unset CHANGEBOT_USER"
            )
        case (let user?, let password?, nil): return .basic(user: user, password: password)
        case (let user?, nil, let file?): return .basic(user: user, password: try read(file))
        }
    }

    /// Reads the password file again at each call, because it may have changed. Nil without a password file.
    static func source(_ environment: Environment) -> (@Sendable () throws -> GatewayCredentials?)? {
        guard let user = environment.variable("CHANGEBOT_USER"),
            let file = environment.variable("CHANGEBOT_PASSWORD_FILE")
        else { return nil }
        return { .basic(user: user, password: try read(file)) }
    }

    /// The content of the file without the final line feed.
    private static func read(_ path: String) throws(CommandError) -> String {
        let bytes: Data
        do { bytes = try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
            let isThere = FileManager.default.fileExists(atPath: path)
            throw CommandError(
                .missingInput,
                "can't read the password file \(path) (CHANGEBOT_PASSWORD_FILE)\(isThere ? "" : ": there is no such file")"
            )
        }
        guard var text = String(data: bytes, encoding: .utf8) else {
            throw CommandError(.missingInput, "the password file \(path) (CHANGEBOT_PASSWORD_FILE) is not UTF-8")
        }
        if text.utf8.last == UInt8(ascii: "\n") { text = String(text.unicodeScalars.dropLast()) }
        if text.utf8.last == UInt8(ascii: "\r") { text = String(text.unicodeScalars.dropLast()) }
        guard !text.isEmpty else {
            throw CommandError(.missingInput, "the password file \(path) (CHANGEBOT_PASSWORD_FILE) is empty")
        }
        return text
    }
}
