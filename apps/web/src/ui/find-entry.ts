import type { LucideIcon } from 'lucide-react';

/** One thing that the search of the app finds. Features make them, `app` collects them. */
export type FindEntry = {
  /** Unique among all entries. */
  id: string;
  group: 'page' | 'action' | 'zone' | 'device' | 'scene';
  title: string;
  /** Further words that find it, besides the title. */
  words?: string | undefined;
  /** Shown small after the title: a zone, a state. */
  detail?: string | undefined;
  icon: LucideIcon;
  /** The search stays open and shows what comes of it. */
  staysOpen?: boolean;
  run(): void;
};
