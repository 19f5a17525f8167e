internal import GatewayClient
internal import LosslessJSON

extension JSONWriter {
    mutating func member(_ name: String, sequence: SequenceID?) {
        member(name, raw: sequence?.json ?? Array("null".utf8))
    }
}
