internal import Glibc

enum LineBreaks {
    static func occur(in text: UnsafeRawBufferPointer) -> Bool {
        guard let start = text.baseAddress else { return false }
        return memchr(start, 0x0A, text.count) != nil || memchr(start, 0x0D, text.count) != nil
    }
}
