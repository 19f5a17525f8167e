internal import GatewayClient
internal import LosslessJSON

extension JSONWriter {
    mutating func member(_ name: String, optional value: String?) {
        if let value { member(name, string: value) } else { member(name, raw: "null".utf8) }
    }

    mutating func member(_ name: String, sequence: SequenceID?) {
        member(name, raw: sequence?.json ?? Array("null".utf8))
    }
}
