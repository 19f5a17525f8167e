import LosslessJSON
import Testing

@testable import TypedDocuments

/// Properties that are not plain members.
@Suite struct PartTests {
    /// The value of the member whose name has a star appended, outside lists.
    private struct Star: DocumentPart, Equatable {
        var json: String

        static func read(at place: DocumentPlace) throws -> Star? {
            guard let name = place.path.last?.stringValue, let value = place.document?["\(name)*"] else { return nil }
            return Star(json: String(decoding: value.bytes, as: UTF8.self))
        }

        func json(at place: DocumentPlace) throws -> [UInt8]? { json == "inline" ? Array("1".utf8) : nil }
    }

    private struct Sky: Codable {
        var first: Star
        var second: Star?
        var name: String
    }

    @Test func partIsUsedInsteadOfMember() throws {
        let document = try JSONText(#"{"first":1,"first*":2,"name":"x"}"#)
        let sky = try DocumentDecoder().decode(Sky.self, from: document.root)
        #expect(sky.first == Star(json: "2") && sky.second == nil)
    }

    @Test func absentPartIsMissing() throws {
        let error = #expect(throws: TypeMismatch.self) {
            try DocumentDecoder().decode(Sky.self, from: JSONText(#"{"name":"x"}"#).root)
        }
        #expect(error?.description == "first is missing: it must be a value")
    }

    @Test func partIsMemberOnlyIfItHasJSON() throws {
        let sky = Sky(first: Star(json: "2"), second: Star(json: "inline"), name: "x")
        let (json, parts) = try DocumentEncoder().encode(sky)
        #expect(String(decoding: json.bytes, as: UTF8.self) == #"{"second":1,"name":"x"}"#)
        #expect(parts.map(\.path.text) == ["first", "second"])
    }

    @Test func partWithoutMemberCannotBeElement() throws {
        #expect(throws: EncodingError.self) { try DocumentEncoder().encode([Star(json: "2")]) }
        #expect(try DocumentEncoder().encode([Star(json: "inline")]).parts.map(\.path.text) == ["[0]"])
    }
}
