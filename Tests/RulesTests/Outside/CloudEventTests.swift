import LosslessJSON
import TestKit
import Testing

@testable import Rules

@Suite(.limitedParallelism) struct CloudEventTests {
    private static let identity = CloudEvent.Identity(id: "k1", time: 1_795_168_800, keyspace: "todo.shop.orders")

    private func event(_ document: String, _ event: String = "{}", isDeleted: Bool = false) async throws -> CloudEvent {
        let rules = try ruleSet(
            lines: "name: a, on: [change, delete], when: {}, then: [{webhook: {url: 'http://h', event: \(event)}}]")
        let decision = try await rules.decided(document, isDeleted: isDeleted)
        guard case .webhook(let webhook)? = decision.outside.first?.kind, case .cloudEvent(let event) = webhook.body
        else { throw NoEvent(reason: decision.error?.description) }
        return event
    }

    private struct NoEvent: Error { let reason: String? }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func eventContainsTheDocumentByteForByte() async throws {
        let event = try await event(#"{"_id":"o1","_rev":"1-a","n":12345678901234567890123,"p":1.10}"#)
        #expect(
            text(event.json(Self.identity))
                == #"{"specversion":"1.0","id":"k1","source":"/todo.shop.orders","type":"changebot.document.changed","subject":"o1","time":"2026-11-20T10:00:00Z","datacontenttype":"application/json","data":{"_id":"o1","_rev":"1-a","n":12345678901234567890123,"p":1.10}}"#
        )
    }

    @Test func tombstoneIsADeletedEvent() async throws {
        let event = try await event(#"{"_id":"o1","_rev":"2-a","_deleted":true}"#, isDeleted: true)
        #expect(event.type == "changebot.document.deleted")
        #expect(text(event.data.bytes) == #"{"_id":"o1","_rev":"2-a","_deleted":true}"#)
    }

    @Test func previewOmitsIDAndTime() async throws {
        let event = try await event(#"{"_id":"o1"}"#, "{source: /shop}")
        #expect(
            text(event.json(nil))
                == #"{"specversion":"1.0","source":"/shop","type":"changebot.document.changed","subject":"o1","datacontenttype":"application/json","data":{"_id":"o1"}}"#
        )
    }

    @Test func headersAreEncoded() async throws {
        let event = try await event(#"{"_id":"Ä \"1\" 50%","n":1}"#)
        let headers = event.headers(Self.identity).map { "\($0.name): \($0.value)" }
        #expect(
            headers == [
                "ce-specversion: 1.0", "ce-id: k1", "ce-source: /todo.shop.orders",
                "ce-type: changebot.document.changed", "ce-subject: %C3%84%20%221%22%2050%25",
                "ce-time: 2026-11-20T10:00:00Z",
            ])
    }

    @Test func attributesAndDataCanBeComputed() async throws {
        let event = try await event(
            #"{"_id":"o1","kind":"paid","shop":"b","n":2}"#,
            "{type: {jq: '\"shop.\" + .kind'}, source: {jq: '\"/\" + .shop'}, subject: {jq: .nothing}, data: {total: {jq: .n}}}"
        )
        #expect(event.type == "shop.paid")
        #expect(event.source == "/b")
        #expect(event.subject == nil)
        #expect(text(event.data.bytes) == #"{"total":2}"#)
    }

    @Test func idWithControlCharactersIsOmittedAsSubject() async throws {
        #expect(try await event(#"{"_id":"a\u0001b"}"#).subject == nil)
    }

    @Test(arguments: [
        ("{source: {jq: .s}}", "the event's source must be a URI reference such as /orders; 'a b' is not one"),
        ("{type: {jq: .t}}", "the event's type has a control character"),
    ])
    func invalidAttributeIsADeadLetter(event: String, reason: String) async throws {
        let rules = try ruleSet(lines: "name: a, when: {}, then: [{webhook: {url: 'http://h', event: \(event)}}]")
        let decision = try await rules.decided(#"{"_id":"o","s":"a b","t":"a\nb"}"#)
        #expect(decision.error?.reason == reason)
        #expect(decision.outside.isEmpty)
    }
}
