/** What a terminal obeys, and what shows a text in another order or on another line than it has (UAX 9 and 14). */
const commands = String.raw`[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]`;
const anyCommand = new RegExp(commands, 'gu');
const anyButLineFeed = new RegExp(`(?!\\n)${commands}`, 'gu');

/** One line for a terminal or a page, of a text that others may have written. */
export const plainText = (text: string): string => text.replaceAll(anyCommand, ' ');

/** The same of several lines, which stay. */
export const plainLines = (text: string): string => text.replaceAll(anyButLineFeed, ' ');

/** Lines of JSON that mean the same and have no character that a terminal obeys. JSON itself leaves those from U+007F on. */
export const plainJson = (lines: string): string =>
  lines.replaceAll(anyButLineFeed, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
