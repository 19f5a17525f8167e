import LosslessJSON
import Testing

@testable import EmbeddedGateway

@Suite struct DocumentBytesTests {
    @Test(arguments: [
        (#"{"a":1}"#, "1-36de1e87058203f406bd6a3842c45ef0"),
        (#"{ "a" : 1 }"#, "1-36de1e87058203f406bd6a3842c45ef0"),
        ("{}", "1-ca9ad22802b66f662ff171f226211d5c"),
        (#"{"_foo": 1}"#, "1-d3b32e81970ca7874f573283b61ec2bc"),
        (#"{"_exp": 2, "a": 1}"#, "1-36de1e87058203f406bd6a3842c45ef0"),
        (
            #"{"big":12345678901234567890,"f":1.0,"e":1e3,"d":0.1,"i":9007199254740993,"#
                + #""u":"\u00e9\u0000\ud83d\ude00","n":null,"dup":1,"dup":2}"#,
            "1-0a77714b889665e5c79c4ddc6e334604"
        ),
        (#"{"a":"<"}"#, "1-98c11d9aa4ae9b2a48c72c8b05021fb4"), (#"{"<":1}"#, "1-f960346918937b92f2e90afc2b16ce88"),
        (#"{"a":"\u0026"}"#, "1-8b59a93da7b17e22fc107d3fa9ac382e"),
        (#"{"a":">"}"#, "1-7dc3d41800e60c94228a151e22a4ca8a"),
        (#"{"a":"\u2028"}"#, "1-00e82d11a5d3190df977e1123281942b"),
        ("{\"a\":\"\u{2028}\"}", "1-00e82d11a5d3190df977e1123281942b"),
        (#"{"\u2029":1}"#, "1-7de09b5c7bed39e90096f13b3f6118e2"),
        (#"{"a":"\b"}"#, "1-751bc78a08b4174b57d4813933ea5925"),
        (#"{"\u000c":1}"#, "1-6f41edd5c4d9bdfc30e17bf11fc03658"),
        (#"{"a":"\\ \""}"#, "1-022f3be10b94952786369c5a584cee90"),
        (#"{"a":"é"}"#, "1-f2a4c60eeb4c12de6a7c6a7681a3bd2f"),
    ])
    func revisionIDsEqualTheRealGateways(text: String, revision: String) throws {
        let document = try IncomingDocument(JSONText(text).root)
        #expect(StoredRevisionID(after: nil, canonicalBody: document.canonicalBody).description == revision)
    }

    @Test(arguments: [
        (#"{"\ud800":1}"#, #"{"\uD800":1}"#), (#"{"a":"x\uDFFFy"}"#, #"{"a":"x\udfffy"}"#),
        (#"{"a":["\udbff\ud83d\ude00"]}"#, #"{"a":["\udbff😀"]}"#),
        (#"{"\ud7ff":"\ue000"}"#, #"{"\uD7FF":"\uE000"}"#),
    ])
    func loneSurrogatesStayEscaped(text: String, other: String) throws {
        let (canonical, again) = (
            CanonicalJSON.text(try JSONText(text).root), CanonicalJSON.text(try JSONText(other).root)
        )
        #expect(String(validating: canonical, as: UTF8.self) != nil)
        #expect(canonical == again)
        #expect(try JSONText(canonical).root.isEquivalent(to: JSONText(text).root))
    }

    @Test func bodiesThatDifferInALoneSurrogateAreTwoRevisions() throws {
        let texts = [#"{"a":"\ud800"}"#, #"{"a":"\ud801"}"#, #"{"a":"\ufffd"}"#]
        let bodies = try texts.map { try IncomingDocument(JSONText($0).root).canonicalBody }
        #expect(Set(bodies).count == 3)
    }

    @Test func stubWithALoneSurrogateKeepsTheDatabaseReadable() async throws {
        let gateway = try TestGateway()
        let stub = #"{"_attachments":{"a":{"stub":true,"digest":"sha1-x","\ud800":"\udc00"}}}"#
        #expect(try await gateway.put("d", stub).status == 201)
        for target in ["/open/d", "/open/_all_docs?include_docs=true", "/open/_changes?include_docs=true"] {
            let answer = try await gateway.answer("GET", target)
            #expect(String(validating: answer.bytes, as: UTF8.self) != nil, "\(target)")
            #expect(answer.text.contains(#""\ud800":"\udc00""#), "\(target)")
        }
    }

    @Test func tombstoneRevisionDependsOnItsParent() throws {
        let parent = try #require(StoredRevisionID("1-386016876530a550f925a20d98bf1254"))
        let document = IncomingDocument.tombstone(of: nil)
        let revision = StoredRevisionID(after: parent, canonicalBody: document.canonicalBody)
        #expect(revision.description == "2-3a37917086ee3926f6d3d09cdd2d3929")
    }

    @Test(arguments: [
        (#"{"b": 1.10, "a" : 12345678901234567890123}"#, #"{"b": 1.10, "a" : 12345678901234567890123}"#),
        (#"{"_id":"x","a": 1}"#, #"{"a": 1}"#),
        (#"{"a": 1, "_rev":"1-a" , "b":2}"#, #"{"a": 1 , "b":2}"#),
        (#"{"a":1,"_id":"x","_rev":"1-a"}"#, #"{"a":1}"#),
        (#"{"_id":"x"}"#, "{}"),
        (#"{"\u005fid":"x","é":"\u00e9\/"}"#, #"{"é":"\u00e9\/"}"#),
        (#"{"_foo":1,"nested":{"_id":2}}"#, #"{"_foo":1,"nested":{"_id":2}}"#),
    ])
    func onlyReservedMembersAreRemovedFromTheBody(text: String, body: String) throws {
        let document = try IncomingDocument(JSONText(text).root)
        #expect(String(decoding: document.body, as: UTF8.self) == body)
    }

    @Test func deepDocumentsDoNotOverflowTheStack() throws {
        let deep = #"{"a":"# + String(repeating: "[", count: 9_000) + String(repeating: "]", count: 9_000) + "}"
        let document = try IncomingDocument(JSONText(deep).root)
        #expect(document.canonicalBody == Array(deep.utf8))
    }

    @Test(arguments: ["", "1", "0-a", "-1-a", "1-", "x-a", "99999999999-a"])
    func invalidRevisionIDIsRefused(text: String) {
        #expect(StoredRevisionID(text) == nil)
    }
}
