import GatewayClient
import LosslessJSON
import Testing

@testable import Transfer

/// Documents in requests do not contain members that describe their version.
@Suite struct ImportBodyTests {
    @Test(arguments: [
        // As long as `_id`, and the only member of the gateway.
        (#"{"_id":"a","_cv":"18e9dd7a4cc30000@src","n":1}"#, #"{"_id":"a","n":1}"#),
        (#"{"_cv":"x","n":1}"#, #"{"n":1}"#), (#"{"_id":"a","_cv":"x"}"#, #"{"_id":"a"}"#),
        (#"{"_id":"a","_rev":"1-a","_cv":"x","n":1}"#, #"{"_id":"a","n":1}"#),
        (#"{"_id":"a","\u005fcv":"x","n":1}"#, #"{"_id":"a","n":1}"#),
        (#"{"_id":"a","_local_seq":7,"_conflicts":["2-b"],"n":1}"#, #"{"_id":"a","n":1}"#),
        // All other members are kept, byte for byte.
        (#"{ "_id" : "a" , "n" : 1.10 }"#, #"{ "_id" : "a" , "n" : 1.10 }"#),
        (#"{"_id":"a","_xy":1,"id":2}"#, #"{"_id":"a","_xy":1,"id":2}"#),
        (#"{"_id":"a","_":1}"#, #"{"_id":"a","_":1}"#),
    ])
    func gatewayMembersAreOmitted(document: String, expected: String) throws {
        let body = ImportBody(try JSONText(document), leavingOut: VersionMembers.generated)
        #expect(String(decoding: body.bytes, as: UTF8.self) == expected)
    }
}
