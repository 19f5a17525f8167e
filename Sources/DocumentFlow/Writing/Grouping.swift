extension Array {
    /// Consecutive groups of at most `count` elements and `bytes` bytes. A larger element forms a group by itself.
    @inlinable package func grouped(count: Int, bytes: Int, size: (Element) -> Int) -> [ArraySlice<Element>] {
        var groups: [ArraySlice<Element>] = []
        var start = startIndex
        var groupBytes = 0
        for (index, element) in enumerated() {
            let size = size(element)
            if index > start, index - start == count || groupBytes + size > bytes {
                groups.append(self[start..<index])
                start = index
                groupBytes = 0
            }
            groupBytes += size
        }
        if start < endIndex { groups.append(self[start...]) }
        return groups
    }
}
