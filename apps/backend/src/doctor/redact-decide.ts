/** Removes secrets and personal data from a value before it leaves the station in a diagnostics bundle. Pure. */

const secretName =
  /token|password|passphrase|secret|authorization|psk|credential|cookie|apikey|api_key|privatekey|^code$|stationcode|setupcode/i;
const personalName = /^(ssid|email|e-mail|username|user|member|label)$/i;
const removed = '[removed]';
/** A shorter value would remove parts of ordinary words. */
const shortestValue = 4;
const deepest = 24;

/** Patterns of values that are secret or personal wherever they stand. */
const patterns: readonly [RegExp, string][] = [
  // RFC 3986, userinfo.
  [/([a-z][a-z0-9+.-]*:\/\/)[^/\s"'<>@]*@/gi, `$1${removed}@`],
  // E-mail addresses, also of other scripts.
  [/[^\s"'<>()[\]{},;:@/\\]+@[^\s"'<>()[\]{},;:@/\\]+\.[^\s"'<>()[\]{},;:@/\\]+/gu, removed],
  // JSON Web Tokens (RFC 7519), and what follows the name of an authentication scheme.
  [/eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*/g, removed],
  [/\b(Bearer|Basic)\s+[^\s"',;]+/gi, `$1 ${removed}`],
  // Password hashes (PHC string format), keys in PEM.
  [/\$(argon2(?:id|i|d)|scrypt|2[aby])\$[^\s"']+/g, removed],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?-----END [A-Z ]*PRIVATE KEY-----/g, removed],
  // NAME=value and "name": "value" inside of texts.
  [/((?:token|password|passphrase|secret|psk|credential|code)["']?\s*[=:]\s*["']?)[^\s"',;&}]+/gi, `$1${removed}`],
];

/**
 * A copy without secrets: by the name of a field, by known values, and by pattern; in keys as well as in values.
 * @param known secrets and personal data of this station, e.g. its Wi-Fi password and the addresses of its members.
 */
export function redact(value: unknown, known: readonly string[]): unknown {
  const forms = known.filter((one) => one.length >= shortestValue).flatMap(formsOf);
  const values = [...new Set(forms)].sort((a, b) => b.length - a.length);
  const inText = (text: string): string => {
    const withoutKnown = values.reduce((rest, form) => rest.replaceAll(form, removed), text);
    return patterns.reduce((rest, [pattern, replacement]) => rest.replaceAll(pattern, replacement), withoutKnown);
  };
  const walk = (item: unknown, depth: number): unknown => {
    if (typeof item === 'string') return inText(item);
    if (typeof item !== 'object' || item === null) return item;
    if (depth > deepest) return removed;
    if (Array.isArray(item)) return item.map((one) => walk(one, depth + 1));
    return Object.fromEntries(
      Object.entries(item).map(([key, one]) => {
        const isSecret = one !== null && typeof one !== 'boolean' && (secretName.test(key) || personalName.test(key));
        return [inText(key), isSecret ? removed : walk(one, depth + 1)];
      }),
    );
  };
  return walk(value, 0);
}

/** A value as it may stand in text: plain, inside of JSON, inside of a URL. */
function formsOf(value: string): string[] {
  return [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)];
}
