import { contains } from './contains.ts';

export type ComboOption = {
  value: string;
  label: string;
  /** Beside the label, and searched too: the zone of a device. */
  hint?: string;
};
export type ComboGroup = { label: string; options: readonly ComboOption[] };

type Found = {
  found: readonly { label: string; options: readonly { option: ComboOption; /** Among all. */ place: number }[] }[];
  /** All of them, in the order of the list. */
  options: readonly ComboOption[];
  /** More would fit. */
  isCut: boolean;
};

/** A longer list is not read anyway, and slow to draw. */
const maxShown = 80;

/** The options in which every typed word occurs, without regard to case and accents. */
export function findOptions(groups: readonly ComboGroup[], typed: string): Found {
  const options: ComboOption[] = [];
  let isCut = false;
  const found = groups.flatMap(({ label, options: all }) => {
    const fitting = all.filter(({ label: name, hint = '' }) => contains(`${name} ${hint}`, typed));
    const shown = fitting.slice(0, maxShown - options.length);
    isCut ||= shown.length < fitting.length;
    const placed = shown.map((option) => ({ option, place: options.push(option) - 1 }));
    return placed.length === 0 ? [] : [{ label, options: placed }];
  });
  return { found, options, isCut };
}
