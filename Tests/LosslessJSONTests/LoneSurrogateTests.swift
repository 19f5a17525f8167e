import LosslessJSON
import Testing

/// Names and texts are compared by their code units. A lone surrogate is an ordinary code unit, although no UTF-8
/// text can represent it.
@Suite struct LoneSurrogateTests {
    @Test(arguments: [
        #"{"\ud800":1,"\udfff":2}"#, #"{"\ud800":1,"\ufffd":2}"#, #"{"a\ud800":1,"a\ud801":2}"#,
        #"{"\ud800":1,"\ud800\udc00":2}"#, #"{"\ud83d":1,"\ude00":2,"\ud83d\ude00":3}"#,
        #"{"x":{"\ud800":1,"\udc00":2}}"#,
        "{\"e\u{301}\":1,\"\u{E9}\":2}",
    ])
    func differentNamesAreNotDuplicates(object: String) throws {
        #expect(try json(object).duplicateMemberName == nil)
    }

    @Test(arguments: [
        #"{"\ud800":1,"\uD800":2}"#, #"{"\ude00x":1,"\uDE00\u0078":2}"#, #"{"\ud83d\ude00":1,"😀":2}"#,
    ])
    func sameNameInTwoSpellingsIsADuplicate(object: String) throws {
        #expect(try json(object).duplicateMemberName != nil)
    }

    @Test(arguments: [
        (#""\ud800""#, #""\udfff""#, false), (#""\ud800""#, #""\ufffd""#, false), (#""\ud800""#, #""\uD800""#, true),
        (#"{"\ud800":1,"\udfff":2}"#, #"{"\udfff":2,"\uD800":1}"#, true),
        (#"{"\ud800":1,"\udfff":2}"#, #"{"\udfff":1,"\ud800":2}"#, false),
        (#"{"\ud800":1}"#, #"{"\ud801":1}"#, false),
    ])
    func equivalenceComparesCodeUnits(left: String, right: String, isSame: Bool) throws {
        #expect(try json(left).isEquivalent(to: json(right)) == isSame)
    }

    @Test func editKeepsMembersNamedByLoneSurrogates() throws {
        let document = try JSONText(#"{"\ud800":1,"\udfff":2,"a":3}"#)
        let edited = try document.setting(JSONPointer("/a"), to: Array("4".utf8))
        #expect(edited.string == #"{"\ud800":1,"\udfff":2,"a":4}"#)
        #expect(try document.merging(#"{"\udfff":null,"\ud801":5}"#).string == #"{"\ud800":1,"a":3,"\ud801":5}"#)
    }

    /// No pointer can express such a member, so its object is replaced.
    @Test(arguments: [
        (#"{"a":{"\ud800":1,"\udfff":2}}"#, #"{"a":{"\ud800":1,"\udfff":3}}"#, "/a"),
        (#"{"a":{"\ud800":1}}"#, #"{"a":{"b":1}}"#, "/a"), (#"{"\ud800":1}"#, #"{"\udfff":1}"#, ""),
    ])
    func differenceOfSuchObjectsCanBeApplied(old: String, new: String, place: String) throws {
        let (old, new) = (try JSONText(old), try JSONText(new))
        let patch = JSONPatch.difference(from: old.root, to: new.root)
        #expect(patch.operations.count == 1)
        #expect(try old.applying(patch).root.isEquivalent(to: new.root), "\(place)")
    }

    @Test func textIsDistinguishedFromLoneSurrogates() throws {
        for text in [#""""#, #""a""#, #""\ufffd""#, #""\ud83d\ude00""#, #""\u00ed\u00a0""#, "\"\u{D7FF}\u{E000}\""] {
            #expect(try json(text).isText, "\(text)")
        }
        for text in [#""\ud800""#, #""a\udfffb""#, #""\ud83d\ud83d\ude00""#, "1"] {
            #expect(try !json(text).isText, "\(text)")
        }
    }
}
