import { dot } from '../../i18n/words.ts';
import { type Tone, ToneIcon } from '../../ui/tone.tsx';

/** One step of a run or of a test: what it is, how it ended, what it saw. */
export function StepLine({
  tone,
  words,
  status,
  seen,
  detail = null,
}: {
  tone: Tone | null;
  words: string;
  status: string;
  seen: string | null;
  /** In English. */
  detail?: string | null;
}) {
  return (
    <li className="text-small">
      <p className="flex gap-2">
        {tone === null ? <span className="w-4 shrink-0" /> : <ToneIcon tone={tone} className="mt-0.5 size-4" />}
        <span className="min-w-0 break-words">
          <span className="inline-block first-letter:uppercase">{words}</span>
          <span className="text-ink-soft">
            {dot}
            {status}
            {seen !== null && ` (${seen})`}
          </span>
        </span>
      </p>
      {detail !== null && (
        <p className="pl-6 text-ink-soft">
          <q lang="en">{detail}</q>
        </p>
      )}
    </li>
  );
}
