import type { SharedDevice } from './picture.ts';

/** Levels that are the dialect's own. */
const reserved: readonly string[] = ['bridge', 'set', 'get', 'availability'];
const longest = 100;

/**
 * The name of each device as one level of a topic, by id. Of two with the same name the older one keeps it.
 * @param devices by age.
 */
export function topicNames(devices: readonly Pick<SharedDevice, 'id' | 'name'>[]): Map<string, string> {
  const names = new Map<string, string>();
  const used = new Set(reserved);
  for (const { id, name } of devices) {
    const own = levelOf(name);
    let free = own;
    for (let number = 2; used.has(free); number += 1) free = `${own} ${number}`;
    used.add(free);
    names.set(id, free);
  }
  return names;
}

/** Without separators, wildcards, control characters and halves of surrogate pairs; no topic of the broker itself. */
function levelOf(name: string): string {
  const plain = name
    .toWellFormed()
    .replace(/[/+#\u0000-\u001f\u007f-\u009f\ufffd]/g, '_')
    .slice(0, longest)
    .toWellFormed()
    .replace(/\ufffd/g, '_')
    .trim()
    .replace(/^\$/, '_');
  return plain === '' ? 'device' : plain;
}
