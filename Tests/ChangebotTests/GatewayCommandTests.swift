import Foundation
import GatewayClient
import TestKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct GatewayCommandTests {
    private static let users =
        #"{"databases":{"todo":{"guest":{"disabled":true},"users":{"amy":{"password":"secret","admin_channels":["*"]}}}}}"#

    @Test func aConfigurationSaysWhoMayComeIn() async throws {
        try await Program.withDirectory { folder in
            try Data(Self.users.utf8).write(to: URL(fileURLWithPath: folder + "/users.json"))
            let process = try ChildProcess([
                Program.path, "gateway", "--listen", "127.0.0.1:0", "--config", folder + "/users.json",
            ])
            defer {
                process.signal(SIGTERM)
                _ = process.wait()
            }
            let url = try #require(process.readLine()?.split(separator: " ").last.map(String.init))
            let run = [
                "run", "--once", "--gateway", url, "--rules", Program.pictureRules, "--state", folder + "/state",
            ]
            #expect(try Program.run(run).code == 77)
            let amy = ["CHANGEBOT_USER": "amy", "CHANGEBOT_PASSWORD": "secret"]
            #expect(try Program.run(run, environment: amy).code == 0)
            let wrong = try Program.run(run, environment: ["CHANGEBOT_USER": "amy", "CHANGEBOT_PASSWORD": "guessed"])
            #expect(wrong.code == 77 && !wrong.errors.contains("guessed"))
        }
    }

    @Test(arguments: [
        (#"{"databases":{"todo":{"sync":"function(d){}"}}}"#, ":1:30: \"sync\" functions are not supported"),
        ("{", ":1:2: "),
    ])
    func aConfigurationThatIsNotValidIsRefused(text: String, message: String) async throws {
        try await Program.withDirectory { folder in
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/users.json"))
            let result = try Program.run(["gateway", "--config", folder + "/users.json"])
            #expect(result.code == 78)
            #expect(result.errors.hasPrefix(folder + "/users.json" + message), "\(result.errors)")
        }
        #expect(try Program.run(["gateway", "--config", "/none.json"]).code == 66)
    }
}
