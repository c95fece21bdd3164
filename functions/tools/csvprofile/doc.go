// Package csvprofile says what is in a CSV file: its columns, their types and
// their values, and what is odd about the file.
//
// It takes files as they are found. Delimiter, header, line ends and character
// encoding are detected; bad quoting, rows of the wrong length, characters that
// can't be decoded and the like become warnings with line numbers, and the rest
// of the file is still profiled. Only what is not text at all is refused.
//
// One pass, in time linear in the file. Beyond the decoded text, memory is
// bounded whatever the file holds: distinct values and quantiles are exact for
// up to 10,000 values a column (fewer in a very wide file) and estimated past
// that, by HyperLogLog (a standard error of 0.8 %) and a t-digest. The result
// says which it is. The same file always gives the same profile.
//
// What it does not do: numbers with a decimal comma or thousands separators are
// text, and so are numbers with leading zeros, which are nearly always codes.
// Line ends inside a quoted field are read as one LF.
//
//	p, err := csvprofile.Of(ctx, data, csvprofile.Options{})
package csvprofile
