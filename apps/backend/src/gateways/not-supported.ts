import type { NotSupported } from '@station/protocol/gateways';

/** What a gateway heard and could not take. It ends with the run: announcements come again. */
export type NotSupportedList = {
  /** Everything that this source could not be taken of now; none: all of it was. */
  tell(source: string, entries: readonly NotSupported[]): void;
  all(): readonly NotSupported[];
};

/** What one gateway is remembered for; more is not listed. */
const most = 500;
const longest = 160;

export function createNotSupported(): NotSupportedList {
  const sources = new Map<string, readonly NotSupported[]>();
  let count = 0;
  const shown = (text: string): string => text.slice(0, longest).toWellFormed();
  return {
    tell: (source, entries) => {
      count -= sources.get(source)?.length ?? 0;
      sources.delete(source);
      const taken = entries.slice(0, most - count);
      if (taken.length === 0) return;
      count += taken.length;
      sources.set(
        source,
        taken.map(({ name, reason, detail }) => ({
          name: shown(name),
          reason,
          detail: detail === null ? null : shown(detail),
        })),
      );
    },
    // Many values of one device can be refused for one reason, each with a message of its own.
    all: () => {
      const unique = new Map([...sources.values()].flat().map((entry) => [JSON.stringify(entry), entry]));
      return [...unique.values()];
    },
  };
}
