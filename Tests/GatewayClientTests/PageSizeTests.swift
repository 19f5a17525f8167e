import Testing

@testable import GatewayClient

/// The number of documents per page.
@Suite struct PageSizeTests {
    @Test(arguments: [
        // Starting a page may take up to a twentieth of the time.
        (1, 20, 10_000), (1, 1000, 10_000), (0, 0, 10_000), (0, 10, 10_000),
        (500, 1600, 70_000), (1, 10, 20_000), (1, 1, 100_000),
    ])
    func pagesGrowWithTheCostOfStartingThem(beginning: Int, whole: Int, documents: Int) {
        var size = PageSize()
        size.notePage(beginning: .milliseconds(beginning), whole: .milliseconds(whole))
        #expect(size.documents == documents)
    }

    @Test func pageSizeHasALimit() {
        var size = PageSize()
        for _ in 0..<5 { size.notePage(beginning: .seconds(1), whole: .seconds(1)) }
        #expect(size.documents == PageSize.largest)
    }

    @Test(arguments: [(GatewayDialect.couchDB, PageSize.first), (.syncGateway, PageSize.largest)])
    func firstPageIsLargeIfPagesStartSlowly(dialect: GatewayDialect, documents: Int) {
        #expect(PageSize(dialect: dialect).documents == documents)
        #expect(PageSize(fixed: 7, dialect: dialect).documents == 7)
    }

    @Test func pagesShrinkWithEachTruncatedPage() {
        var size = PageSize(dialect: .syncGateway)
        var sizes: [Int] = []
        for _ in 0..<6 {
            size.noteCut()
            sizes.append(size.documents)
        }
        #expect(sizes == [100_000, 50_000, 25_000, 12_500, PageSize.first, PageSize.first])
    }

    @Test func pagesDoNotGrowAfterATruncatedPage() {
        var size = PageSize()
        size.noteCut()
        size.notePage(beginning: .seconds(1), whole: .seconds(1))
        #expect(size.documents == PageSize.first)

        var large = PageSize()
        large.notePage(beginning: .seconds(1), whole: .seconds(1))
        large.noteCut()
        large.notePage(beginning: .seconds(1), whole: .seconds(1))
        #expect(large.documents == 50_000)
    }

    @Test(arguments: [(1, 1), (0, 1), (7, 7), (.max, .max)]) func pageSizeMayBeFixed(given: Int, documents: Int) {
        var size = PageSize(fixed: given)
        size.notePage(beginning: .seconds(1), whole: .seconds(1))
        size.noteCut()
        #expect(size.documents == documents)
    }
}
