import LosslessJSON
import TestKit
import Testing

/// Random edits of random documents: the result is as intended, and all other bytes stay the same.
@Suite struct EditPropertyTests {
    @Test func settingAMemberChangesNothingElse() throws {
        var generator = RandomJSON(seed: 10)
        for _ in 0..<400 {
            let (text, place) = try document(&generator, of: .object)
            let value = generator.text(generator.value(depth: 2))
            let member = place.value.members.shuffled(using: &generator.random).first
            let name = member?.name.string ?? "new"
            let edited = try text.setting(place.pointer.appending(name), to: value)
            if let range = member?.value.range {
                #expect(edited.bytes == text.replacing(range, with: value))
            } else {
                #expect(edited.bytes.removingOneRun(gives: text.bytes))
            }
            let container = try #require(edited.root.value(at: place.pointer))
            #expect(try Model(#require(container[name])) == Model(JSONText(value).root))
        }
    }

    @Test func removalDeletesOneRunOfBytes() throws {
        var generator = RandomJSON(seed: 11)
        for round in 0..<400 {
            let (text, place) = try document(&generator, of: round % 2 == 0 ? .object : .array)
            guard place.value.childCount > 0 else { continue }
            let position = generator.random.below(place.value.childCount)
            let names = place.value.members.map { $0.name.string ?? "" }
            let edited = try text.removing(place.pointer.appending(names.isEmpty ? "\(position)" : names[position]))
            #expect(text.bytes.removingOneRun(gives: edited.bytes))
            var expected = Model(place.value)
            expected.remove(at: position)
            #expect(Model(try #require(edited.root.value(at: place.pointer))) == expected)
        }
    }

    @Test func insertionAddsTheValueAndOneCommaInOneRun() throws {
        var generator = RandomJSON(seed: 12)
        for _ in 0..<400 {
            let (text, place) = try document(&generator, of: .array)
            let value = generator.text(generator.value(depth: 2))
            let count = place.value.childCount
            let position = generator.random.below(count + 1)
            let edited = try text.inserting(value, at: place.pointer.appending("\(position)"))
            #expect(edited.bytes.count == text.bytes.count + value.count + (count > 0 ? 1 : 0))
            #expect(edited.bytes.removingOneRun(gives: text.bytes))
            let array = try #require(edited.root.value(at: place.pointer))
            #expect(array.childCount == count + 1)
            #expect(try Model(#require(array.element(position))) == Model(JSONText(value).root))
            guard position == 0 || position == count else { continue }
            #expect(try edited.removing(place.pointer.appending("\(position)")).bytes == text.bytes)
        }
    }

    @Test func mergeFollowsTheRFCAndIsIdempotent() throws {
        var generator = RandomJSON(seed: 13)
        for _ in 0..<1000 {
            let document = generator.document()
            let patch = generator.document()
            let text = try JSONText(generator.text(document))
            let patchText = try JSONText(generator.text(patch))
            let merged = try text.merging(patchText.root)
            let expected = try JSONText(generator.text(document.merged(with: patch)))
            #expect(merged.root.isEquivalent(to: expected.root), "\(text.string) with \(patchText.string)")
            #expect(merged.root.members.map(\.name.string) == expected.root.members.map(\.name.string))
            #expect(try merged.merging(patchText.root) === merged)
        }
    }

    @Test func mergingOneMemberChangesNothingElse() throws {
        var generator = RandomJSON(seed: 14)
        for _ in 0..<400 {
            let text = try JSONText(generator.text(generator.document()))
            let value = #"["replaced"]"#
            guard let member = text.root.members.shuffled(using: &generator.random).first else { continue }
            let range = member.value.range
            let patch = Array("{".utf8) + member.name.bytes + Array(":\(value)}".utf8)
            let merged = try text.merging(JSONText(patch).root)
            #expect(merged.bytes == text.replacing(range, with: value.utf8))
        }
    }

    // MARK: Where to edit

    private struct Place {
        let pointer: JSONPointer
        let value: JSONValue
    }

    /// A document and one of its containers of this kind.
    private func document(_ generator: inout RandomJSON, of kind: JSONKind) throws -> (JSONText, Place) {
        while true {
            let text = try JSONText(generator.text(generator.document()))
            let places = containers(Place(pointer: JSONPointer(tokens: []), value: text.root))
            if let place = places.filter({ $0.value.kind == kind }).shuffled(using: &generator.random).first {
                return (text, place)
            }
        }
    }

    private func containers(_ place: Place) -> [Place] {
        guard place.value.kind >= .array else { return [] }
        let elements = place.value.elements.enumerated().map { ("\($0)", $1) }
        let members = place.value.members.map { ($0.name.string ?? "", $0.value) }
        return [place]
            + (elements + members).flatMap { containers(Place(pointer: place.pointer.appending($0), value: $1)) }
    }
}

extension Model {
    fileprivate mutating func remove(at position: Int) {
        switch self {
        case .array(var elements):
            elements.remove(at: position)
            self = .array(elements)
        case .object(var members):
            members.remove(at: position)
            self = .object(members)
        default: break
        }
    }
}

extension [UInt8] {
    /// Whether removing one run of bytes gives `shorter`.
    fileprivate func removingOneRun(gives shorter: [UInt8]) -> Bool {
        guard shorter.count <= count else { return false }
        let common = zip(self, shorter).prefix { $0 == $1 }.count
        return shorter[common...].elementsEqual(self[(count - (shorter.count - common))...])
    }
}
