import type { TFunction } from 'i18next';
import { orElse } from './words.ts';

/** A condition of the agent, the backend or the cloud link. */
export type Condition = { id: string; message: string; details?: Readonly<Record<string, unknown>> };

/** A newer station may have one that this page does not know: then the station's own text is shown. */
export const conditionTitle = (t: TFunction, { id, message }: Condition): string =>
  orElse(t, `conditionTitle.${id}`, message);

/** What it is called, and what helps; `help` is empty for one that this page does not know. */
export function conditionWords(t: TFunction, condition: Condition): { title: string; help: string } {
  const details = Object.entries(condition.details ?? {});
  const values = Object.fromEntries(details.map(([name, detail]): [string, string] => [name, detailWords(detail)]));
  return { title: conditionTitle(t, condition), help: orElse(t, `conditionHelp.${helpOf(condition)}`, '', values) };
}

/** An older station does not say who takes the space. */
function helpOf({ id, details = {} }: Condition): string {
  if (id === 'storage_unwritable' && details['reason'] === 'locked') return 'storage_unwritable_locked';
  if (id === 'storage_low' && details['filledBy'] === 'database') return 'storage_low_by_database';
  if (id === 'storage_low' && details['filledBy'] === 'other') return 'storage_low_by_others';
  return id;
}

const detailWords = (detail: unknown): string => (Array.isArray(detail) ? detail.join(', ') : String(detail));
