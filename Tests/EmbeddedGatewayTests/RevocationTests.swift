import Encodings
import HTTPServing
import LosslessJSON
import Testing

@testable import EmbeddedGateway

/// `revocations=true`: documents of channels that the user has lost.
@Suite struct RevocationTests {
    private static let pass = PasswordHash("pass")

    private func fields(_ name: String) -> [HTTPField] {
        let text = Base64.text(Array("\(name):pass".utf8))
        return [.json, HTTPField("Authorization", "Basic \(text)")]
    }

    /// `a` has the channels, `w` has all, and there is one document in each of A, B, and both.
    private func gateway(_ channels: [String], roles: [String] = []) async throws -> (
        TestGateway, EmbeddedGateway.Users
    ) {
        var users = EmbeddedGateway.Users()
        users.roles = ["reader": ["B"]]
        users.accounts["a"] = .init(password: Self.pass, channels: .init(channels), roles: Set(roles))
        users.accounts["w"] = .init(password: Self.pass, channels: ["*"])
        let gateway = try TestGateway()
        try await gateway.router.accounts.replace(with: users)
        for (id, channels) in [("inA", #""A""#), ("inB", #""B""#), ("both", #"["A","B"]"#)] {
            try await put(gateway, id, "{\"channels\":\(channels)}")
        }
        return (gateway, users)
    }

    private func put(_ gateway: TestGateway, _ id: String, _ body: String) async throws {
        _ = try await gateway.answer("PUT", "/open/\(id)", body, fields: fields("w"))
    }

    /// `SEQ ID` of each row, followed by `!` for revocations.
    private func rows(_ gateway: TestGateway, _ query: String) async throws -> [String] {
        let answer = try await gateway.answer("GET", "/open/_changes?\(query)", fields: fields("a"))
        return (SmallJSON(answer.bytes)?["results"]?.elements ?? []).map { row in
            let sequence = row["seq"]?.integer.map(String.init) ?? row["seq"]?.string ?? "?"
            let id = row["id"]?.string ?? "?"
            return row["revoked"] == nil ? "\(sequence) \(id)" : "\(sequence) \(id)!"
        }
    }

    @Test func documentsOfALostChannelAreRevokedOnce() async throws {
        var (gateway, users) = try await gateway(["A", "B"])
        let before = try await rows(gateway, "since=0&revocations=true")
        #expect(before.count == 4 && !before.contains { $0.hasSuffix("!") })
        users.accounts["a"]?.channels = ["A"]
        try await gateway.router.accounts.replace(with: users)
        #expect(try await rows(gateway, "since=7&revocations=true") == ["8:6 inB!", "8 _user/a"])
        #expect(try await rows(gateway, "since=7") == ["8 _user/a"])
        #expect(try await rows(gateway, "since=7&revocations=true&active_only=true") == ["8 _user/a"])
        #expect(try await rows(gateway, "since=8:6&revocations=true") == ["8 _user/a"])
        #expect(try await rows(gateway, "since=8&revocations=true") == [])
        let document = try await gateway.answer(
            "GET", "/open/_changes?since=7&revocations=true&include_docs=true&limit=1", fields: fields("a")
        ).text
        let revision = try #require(document.firstMatch(of: /"rev":"([^"]*)"/)?.1)
        #expect(
            document.contains(
                #"{"seq":"8:6","id":"inB","doc":{"_removed":true,"_id":"inB","_rev":"\#(revision)"},"#
                    + #""changes":[{"rev":"\#(revision)"}],"revoked":true}"#))
        let posted = try await gateway.answer(
            "POST", "/open/_changes", #"{"since":7,"revocations":true}"#, fields: fields("a"))
        #expect(!posted.text.contains("revoked"))
    }

    @Test func laterDocumentsAreNotRevoked() async throws {
        var (gateway, users) = try await gateway(["B"])
        users.accounts["a"]?.channels = []
        try await gateway.router.accounts.replace(with: users)
        try await put(gateway, "later", #"{"channels":"B"}"#)
        #expect(try await rows(gateway, "since=0&revocations=true") == ["8:6 inB!", "8:7 both!", "8 _user/a"])
        users.accounts["a"]?.channels = ["B"]
        try await gateway.router.accounts.replace(with: users)
        #expect(
            try await rows(gateway, "since=8&revocations=true")
                == ["10:6 inB", "10:7 both", "10:9 later", "10 _user/a"])
    }

    @Test func documentThatLeftALostChannelIsRevoked() async throws {
        var (gateway, users) = try await gateway(["B"])
        users.accounts["a"]?.channels = []
        try await gateway.router.accounts.replace(with: users)
        let revision = try #require(
            try await gateway.answer("GET", "/open/inB", fields: fields("w")).field("Etag")?.filter { $0 != "\"" })
        try await put(gateway, "inB?rev=\(revision)", #"{"channels":"C"}"#)
        #expect(try await rows(gateway, "since=7&revocations=true") == ["8:7 both!", "8:9 inB!", "8 _user/a"])
        let feed = try await gateway.answer(
            "GET", "/open/_changes?since=8:8&revocations=true&limit=1", fields: fields("a"))
        #expect(SmallJSON(feed.bytes)?["results"]?.elements?[0]["removed"]?.elements?[0].string == "B")
    }

    @Test func documentThatEnteredAndLeftALostChannelIsNotRevoked() async throws {
        var (gateway, users) = try await gateway(["B"])
        users.accounts["a"]?.channels = []
        try await gateway.router.accounts.replace(with: users)
        try await put(gateway, "later", #"{"channels":"B"}"#)
        let revision = try #require(try gateway.store.winner(of: "later")?.revision)
        try await put(gateway, "later?rev=\(revision)", #"{"channels":"C"}"#)
        #expect(try await rows(gateway, "since=7&revocations=true") == ["8:6 inB!", "8:7 both!", "8 _user/a"])
    }

    @Test func lostRoleRevokesItsChannels() async throws {
        for changes in [
            { (users: inout EmbeddedGateway.Users) in users.accounts["a"]?.roles = [] },
            { (users: inout EmbeddedGateway.Users) in users.roles["reader"] = [] },
            { (users: inout EmbeddedGateway.Users) in
                users.accounts["a"]?.roles = []
                users.roles["reader"] = nil
            },
        ] {
            var (gateway, users) = try await gateway([], roles: ["reader"])
            #expect(try await rows(gateway, "since=4") == ["6 inB", "7 both"])
            changes(&users)
            try await gateway.router.accounts.replace(with: users)
            #expect(try await rows(gateway, "since=7&revocations=true").prefix(2) == ["8:6 inB!", "8:7 both!"])
        }
    }

    @Test func losingTheStarChannelKeepsOtherChannels() async throws {
        var (gateway, users) = try await gateway(["*"])
        try await put(gateway, "nowhere", "{}")
        users.accounts["a"]?.channels = ["A"]
        try await gateway.router.accounts.replace(with: users)
        #expect(
            try await rows(gateway, "since=8&revocations=true")
                == ["9:5 inA", "9:6 inB!", "9:7 both", "9:8 nowhere!", "9 _user/a"])
    }
}
