import Compression
import LosslessJSON

@testable import Transfer

/// The result of a source, in a form that can be compared.
enum Found: Equatable, CustomStringConvertible {
    case document(String, line: Int)
    case broken(String, text: String)
    case error(String)

    var description: String {
        switch self {
        case .document(let text, let line): "\(line) \(text)"
        case .broken(let error, let text): "\(error) | \(text)"
        case .error(let error): "error \(error)"
        }
    }
}

/// Reads all of `input`, in pieces of the lengths that `lengths` gives.
func read(
    _ input: [UInt8], as format: InputFormat? = nil, limit: Int = DocumentSource.documentLimit,
    pieces lengths: () -> Int = { 1 << 20 }
) -> [Found] {
    var rest = input[...]
    var pieces: [[UInt8]] = []
    while !rest.isEmpty {
        pieces.append(Array(rest.prefix(lengths())))
        rest = rest.dropFirst(pieces.last?.count ?? 1)
    }
    var next = pieces.makeIterator()
    var source = DocumentSource(format: format, documentLimit: limit) { next.next() }
    var found: [Found] = []
    do {
        while let item = try source.next() { found.append(Found(item)) }
    } catch {
        found.append(.error("\(error)"))
    }
    return found
}

func read(_ input: String, as format: InputFormat? = nil, limit: Int = DocumentSource.documentLimit) -> [Found] {
    read(Array(input.utf8), as: format, limit: limit)
}

extension Found {
    init(_ item: SourceItem) {
        switch item {
        case .document(let document):
            self = .document(String(decoding: document.bytes, as: UTF8.self), line: document.line)
        case .error(let error):
            self = .broken("\(error.place): \(error.reason)", text: String(decoding: error.text, as: UTF8.self))
        }
    }
}

func document(_ text: String, _ line: Int) -> Found { .document(text, line: line) }
func error(_ error: String, _ text: String) -> Found { .broken(error, text: text) }
