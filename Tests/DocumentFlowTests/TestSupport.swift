import GatewayClient

func sequence(_ number: Int) -> SequenceID { SequenceID(String(number)) ?? .start }
