internal import GatewayClient

/// The documents of a soak, identified by numbers.
struct Population: Sendable {
    let documents: Int
    let broken: Int

    func id(_ number: Int) -> DocumentID { DocumentID("soak-\(number)") }

    func brokenID(_ number: Int) -> DocumentID { DocumentID("soak-broken-\(number)") }

    /// The body contains what careless programs damage: digits that a double can't hold, the spelling of a float, the
    /// order of members.
    func body(_ number: Int, edits: Int, rest: String = "") -> String {
        #"{"_id":"\#(id(number).text)","type":"soak","big":12345678901234567890123,"price":1.10,"edits":\#(edits)\#(rest)}"#
    }

    static let rules = """
        version: 1
        rules:
          - name: stamp
            when: { type: soak, stamped: { $exists: false } }
            then:
              - merge: { stamped: true }
          - name: broken
            when: { type: soak-broken }
            then:
              - merge: { result: { jq: "error(\\"broken\\")" } }
        """
}
