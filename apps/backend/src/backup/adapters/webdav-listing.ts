import { AnswerRefusedError } from './limited-fetch.ts';

export type WebdavEntry = { name: string; bytes: number };

/** What is asked of each file and folder (RFC 4918, section 9.1). */
export const listingRequest =
  '<?xml version="1.0" encoding="utf-8"?><propfind xmlns="DAV:"><prop><resourcetype/><getcontentlength/></prop></propfind>';

type Propstat = { prop?: { resourcetype?: unknown; getcontentlength?: unknown } | string; status?: string };
type Entry = { href?: unknown; propstat?: Propstat[]; status?: string };
type Listing = { multistatus?: { response?: Entry[] } | string };

/**
 * The files of a folder. Servers and proxies write addresses in many ways: absolute or as a path, escaped otherwise or not at all, with the
 * name or the path of a server behind a proxy. So only the last two names count: those of the folder and of the file.
 * @throws AnswerRefusedError when this is no listing.
 */
export async function filesOf(text: string, folder: URL): Promise<WebdavEntry[]> {
  const own = namesOf(folder.pathname).at(-1);
  const files: WebdavEntry[] = [];
  for (const { href, propstat = [] } of (await parsed(text)) ?? []) {
    const path = typeof href === 'string' ? href.trim() : '';
    const names = namesOf(path);
    const isBelow = names.length === 1 ? !path.startsWith('/') : names.at(-2) === own;
    if (!isBelow || path.endsWith('/')) continue;
    const props = propstat.filter(({ status }) => status === undefined || /^(?:\S+ )?2/.test(status));
    const all = Object.assign({}, ...props.map(({ prop }) => prop)) as Exclude<Propstat['prop'], string | undefined>;
    const { resourcetype, getcontentlength } = all;
    if (typeof resourcetype === 'object' && resourcetype !== null && 'collection' in resourcetype) continue;
    files.push({ name: names.at(-1) ?? '', bytes: Number(getcontentlength ?? Number.NaN) });
  }
  return files;
}

/** Whether a listing says of all that is in it that it is not there. Some servers say so only here, in an answer that is right else. */
export async function listsOnlyMissing(text: string): Promise<boolean> {
  const entries = (await parsed(text)) ?? [];
  const statuses = entries.flatMap(({ status, propstat = [] }) => [status, ...propstat.map((one) => one.status)]);
  const told = statuses.filter((status) => status !== undefined);
  return told.length > 0 && told.every((status) => /^(?:\S+ )?4(04|10)/.test(status));
}

async function parsed(text: string) {
  // Loaded only here: stations without such a destination do not need its memory.
  const { XMLParser } = await import('fast-xml-parser');
  const isList = (name: string): boolean => name === 'response' || name === 'propstat';
  try {
    // `htmlEntities` are those of XML by number too.
    const parser = new XMLParser({ removeNSPrefix: true, parseTagValue: false, htmlEntities: true, isArray: isList });
    const { multistatus } = parser.parse(text) as Listing;
    if (multistatus === undefined) throw new Error('It has no multistatus');
    return typeof multistatus === 'string' ? [] : multistatus.response;
  } catch (error) {
    throw new AnswerRefusedError('The listing of the server cannot be read', { cause: error });
  }
}

/** Of a path or an address, decoded. No parser of addresses: some servers escape no `#` and no `%`. */
function namesOf(path: string): string[] {
  return path
    .split('/')
    .filter((name) => name !== '' && name !== '.')
    .map((name) => {
      try {
        return decodeURIComponent(name);
      } catch {
        return name;
      }
    });
}
