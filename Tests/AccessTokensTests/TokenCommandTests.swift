import Foundation
import Testing

@testable import AccessTokens

@Suite struct TokenCommandTests {
    private func run(_ words: String..., deadline: Duration = .seconds(20)) -> TokenCommandRun {
        // 2026-11-20T10:00:00Z
        TokenCommandRun(TokenCommand(words), deadline: deadline, now: { 1_795_168_800 })
    }

    private func answer(_ output: String) throws -> TokenAnswer { try run("x").answer(in: Array(output.utf8)) }

    @Test(
        arguments: [
            ("abc", nil), ("  abc\r\n\n", nil), (#"{"token":"abc","expires_in":600}"#, 600.0),
            (
                #"{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{},"status":{"expirationTimestamp":"2026-11-20T10:10:00Z","token":"abc"}}"#,
                600
            ),
            (#"{"kind":"ExecCredential","status":{"token":"abc"}}"#, nil),
            (#"{"accessToken":"abc","expires_on":1795169400,"expiresOn":"2026-11-20 11:10:00.000000"}"#, 600),
            // It has just ended, or the clock is wrong.
            (#"{"token":"abc","expires_at":"2026-11-20T09:00:00Z"}"#, 1),
        ] as [(String, Double?)])
    func outputIsATokenOrJSON(output: String, seconds: Double?) throws {
        let answer = try answer(output)
        #expect(answer.text == "abc")
        #expect(answer.lifetime == seconds.map { .seconds($0) })
    }

    @Test(arguments: [
        ("", "prints nothing"), (" \n", "prints nothing"), ("a b", "prints more than one word"),
        ("a\nb", "prints more than one word"), ("{", "prints JSON that is not valid"),
        ("{}", "prints JSON without a usable 'token' or 'access_token'"),
        (#"{"token":""}"#, "prints JSON without a usable 'token'"),
        (
            #"{"kind":"ExecCredential","status":{"clientCertificateData":"x"}}"#,
            "prints a certificate; write certificate_file and key_file instead"
        ),
    ])
    func otherOutputIsExplainedWithoutShowingIt(output: String, message: String) {
        let error = #expect(throws: TokenError.self) { try answer(output) }
        #expect(error?.kind == .malformed)
        #expect(error?.message.contains("the token command x " + message) == true, "\(error?.message ?? "")")
    }

    // MARK: - The process

    @Test func commandIsRunWithItsArguments() async throws {
        let answer = try await run("/bin/sh", "-c", "printf '%s-%s' \"$1\" \"$2\"", "sh", "a", "$b").answer()
        #expect(answer.text == "a-$b")
    }

    @Test func commandSeesNoSettingsOfTheBot() async throws {
        setenv("CHANGEBOT_TOKEN_COMMAND_TEST", "x", 1)
        let answer = try await run(
            "sh", "-c", "echo token$CHANGEBOT_TOKEN_COMMAND_TEST; test -n \"$KUBERNETES_EXEC_INFO\" && cat"
        ).answer()
        #expect(answer.text == "token")
    }

    @Test(arguments: [
        (["/no/such/program"], "can't be started: No such file or directory; correct its path"),
        (["/bin/sh", "-c", "echo s3cret; echo s3cret >&2; exit 3"], "fails with exit code 3; run it by hand"),
        (["/bin/sh", "-c", "kill -9 $$"], "is ended by signal 9"),
    ])
    func failingCommandIsExplainedWithoutItsOutput(words: [String], message: String) async {
        let error = await #expect(throws: TokenError.self) {
            try await TokenCommandRun(TokenCommand(words)).answer()
        }
        #expect(error?.kind == .unavailable)
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("s3cret") == false)
    }

    @Test func commandThatHangsIsKilled() async {
        let error = await #expect(throws: TokenError.self) {
            try await run("/bin/sh", "-c", "sleep 1000 & wait", deadline: .milliseconds(200)).answer()
        }
        #expect(error?.message.contains("does not end within") == true)
    }

    @Test func commandThatPrintsWithoutEndIsKilled() async {
        let error = await #expect(throws: TokenError.self) { try await run("yes").answer() }
        #expect(error?.message.contains("prints too much") == true)
    }
}
