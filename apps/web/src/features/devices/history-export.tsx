import { Download } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { readFile, saveFile } from '../../api/download.ts';
import { asProblem, pathOf, type Problem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { joinedCsv } from './history-csv.ts';
import { askedOf, type Charted, type Wanted } from './history-reads.ts';

/** Saves what the chart shows: the station's own file, or one of several devices. */
export function HistoryExport({ shown, wanted }: { shown: readonly Charted[]; wanted: Wanted }) {
  const { t } = useTranslation();
  const { session, clock } = useServices();
  const [state, setState] = useState<'idle' | 'busy' | Problem>('idle');
  const save = async (): Promise<void> => {
    const now = clock.now();
    const files = [];
    // One after the other: the station sends a person one export at a time.
    for (const one of shown) {
      const path = pathOf('GET /api/devices/:id/history.csv', askedOf(one, wanted, now));
      files.push(await readFile(session, path));
    }
    const [first] = files;
    if (!first) return;
    if (files.length === 1) return saveFile(first);
    const texts = await Promise.all(files.map(({ content }) => content.text()));
    const csv = joinedCsv(texts.map((text, index) => ({ device: shown[index]?.device.name ?? '', text })));
    saveFile({ name: 'history.csv', content: new Blob([csv], { type: 'text/csv' }) });
  };
  const start = (): void => {
    setState('busy');
    save().then(
      () => setState('idle'),
      (error: unknown) => setState(asProblem(error)),
    );
  };
  return (
    <>
      <Button kind="quiet" className="px-3" onClick={start} disabled={state === 'busy'}>
        <Download aria-hidden className="size-5" />
        {t(state === 'busy' ? 'devicePage.history.exporting' : 'devicePage.history.export')}
      </Button>
      {typeof state === 'object' && <ProblemNote problem={state} />}
    </>
  );
}
