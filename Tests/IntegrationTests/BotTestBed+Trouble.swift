import EmbeddedGateway
import Foundation
import GatewayClient
import LosslessJSON
import Rules
import TestKit
import Testing

extension BotTestBed {
    /// Rules that set `done` in each task, once.
    static let doneRules = """
        version: 1
        rules:
          - name: done
            when: { type: task, done: { $exists: false } }
            then:
              - merge: { done: true }
        """

    /// Tasks for ``doneRules``, with an attachment and numbers that floating point can't hold.
    static func tasks(_ range: Range<Int>) -> [(id: DocumentID, body: String)] {
        range.map { number in
            let members =
                #""type":"task","n":9223372036854775807,"d":1.00,"_attachments":{"note":{"data":"aGVsbG8="}}"#
            return (DocumentID("t\(number)"), #"{"_id":"t\#(number)",\#(members)}"#)
        }
    }

    /// Always uses the embedded gateway, whatever server the environment names, because only it can inject faults.
    ///
    /// - Parameters:
    ///   - user: Name and password of the only user; nil for a gateway without logins.
    ///   - settings: The bots' gateway settings, except for the password.
    static func withTrouble(
        user: (name: String, password: String)? = nil, settings: GatewaySettings = GatewaySettings(),
        _ body: (BotTestBed, EmbeddedGateway) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            var configuration = EmbeddedGateway.Configuration(storage: .memory, logger: logger)
            var phone = GatewaySettings()
            if let user {
                let account = #""\#(user.name)":{"password":"\#(user.password)","admin_channels":["*"]}"#
                configuration.users = try EmbeddedGateway.Users.parse(
                    Array(#"{"databases":{"todo":{"users":{\#(account)}}}}"#.utf8), database: "todo")
                phone.credentials = .basic(user: user.name, password: user.password)
            }
            let embedded = EmbeddedGateway(configuration)
            let url = try GatewayURL(try await embedded.start().url)
            var bed = BotTestBed(url: url, settings: phone, directory: directory)
            bed.settings = settings
            bed.settings.credentials = phone.credentials
            do { try await body(bed, embedded) } catch {
                await embedded.stop()
                throw error
            }
            await bed.phone.shutdown()
            await embedded.stop()
        }
    }

    /// Expects that each task is done, was written exactly once and has kept its members.
    func expectDoneOnce(_ range: Range<Int>, _ comment: Comment? = nil) async throws {
        for (task, lookup) in zip(Self.tasks(range), try await phone.allDocs(keys: Self.tasks(range).map(\.id))) {
            guard case .found(let revision, let document) = lookup else {
                Issue.record("\(task.id) is not there: \(lookup)")
                continue
            }
            #expect(revision.generation == 2, comment)
            #expect(document.root["done"]?.bool == true, comment)
            #expect(document.root["n"].map { Array($0.bytes) } == Array("9223372036854775807".utf8), comment)
            #expect(document.root["d"].map { Array($0.bytes) } == Array("1.00".utf8), comment)
            #expect(document.root["_attachments"]?["note"]?["stub"]?.bool == true, comment)
        }
    }
}

extension EmbeddedGateway {
    /// Replaces the faults of the gateway by this list of faults, in JSON without brackets.
    func injectFaults(_ errors: String) throws {
        setFaults(try FaultPlan.parse(Array(#"{"seed":7,"faults":[\#(errors)]}"#.utf8)))
    }

    func stopFaults() { setFaults(nil) }
}
