internal import Foundation
internal import GatewayClient

/// Credentials of the environment. They have no options: what stands in argv is seen by everybody.
enum Credentials {
    /// - Throws: 64 if variables contradict each other, 66 if the password file can't be read.
    static func find(_ environment: Environment) throws(CommandFailure) -> GatewayCredentials? {
        let user = environment.variable("CHANGEBOT_USER")
        let password = environment.variable("CHANGEBOT_PASSWORD")
        let file = environment.variable("CHANGEBOT_PASSWORD_FILE")
        let token = environment.variable("CHANGEBOT_TOKEN")
        if let token {
            guard user == nil else {
                throw CommandFailure(.usage, "CHANGEBOT_TOKEN and CHANGEBOT_USER are both set: unset one")
            }
            return .bearer(token: token)
        }
        guard let user else {
            guard password == nil, file == nil else {
                throw CommandFailure(.usage, "a password is set, but no CHANGEBOT_USER")
            }
            return nil
        }
        guard password == nil || file == nil else {
            throw CommandFailure(.usage, "CHANGEBOT_PASSWORD and CHANGEBOT_PASSWORD_FILE are both set: unset one")
        }
        if let file { return .basic(user: user, password: try read(file)) }
        return .basic(user: user, password: password ?? "")
    }

    /// Where a password is looked up anew while the run lasts: its file, which others may have changed. Nil if there is
    /// none.
    static func source(_ environment: Environment) -> (@Sendable () throws -> GatewayCredentials?)? {
        guard let user = environment.variable("CHANGEBOT_USER"),
            let file = environment.variable("CHANGEBOT_PASSWORD_FILE")
        else { return nil }
        return { .basic(user: user, password: try read(file)) }
    }

    /// The file's content without the line feed at its end.
    private static func read(_ path: String) throws(CommandFailure) -> String {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw CommandFailure(.missingInput, "can't read the password file \(path)")
        }
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }
}
