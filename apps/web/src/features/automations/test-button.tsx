import { FlaskConical } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Flow } from '@station/protocol/automation-flow';
import type { TestStep } from '@station/protocol/automations';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { SwitchLine } from '../../ui/switch-line.tsx';
import type { Tone } from '../../ui/tone.tsx';
import { nodeWords } from './automation-words.ts';
import { seenWords } from './run-words.ts';
import { hasConditions, type Surroundings, useTest } from './automations.ts';
import { nodeData } from './sentence.ts';
import { StepLine } from './step-line.tsx';

const tones: Record<TestStep['outcome'], Tone | null> = {
  met: 'ok',
  not_met: null,
  would_ignore: 'attention',
  would_wait: 'working',
  would_do: 'ok',
  would_fail: 'attention',
};

/** Shows what a flow would do now, step by step. `flow`: null while something is missing. */
export function TestButton({
  flow: read,
  around,
  disabled = false,
}: {
  flow: () => Flow | null;
  around: Surroundings;
  disabled?: boolean;
}) {
  const { t } = useTranslation();
  const [flow, setFlow] = useState<Flow | null>(null);
  const [ignoreConditions, setIgnoreConditions] = useState(false);
  const test = useTest();
  const start = (): void => {
    const next = read();
    setFlow(next);
    if (next) test.mutate({ flow: next, ignoreConditions });
  };
  return (
    <>
      <Button disabled={disabled} onClick={start}>
        <FlaskConical aria-hidden className="size-5" />
        {t('automations.test.button')}
      </Button>
      {flow && (
        <Dialog
          title={t('automations.test.title')}
          onClose={() => setFlow(null)}
          actions={
            <>
              <Button kind="primary" onClick={() => setFlow(null)}>
                {t('automations.test.close')}
              </Button>
              <Button busy={test.isPending} onClick={() => test.mutate({ flow, ignoreConditions })}>
                {t('automations.test.again')}
              </Button>
            </>
          }
        >
          <p className="text-small text-ink-soft">{t('automations.test.help')}</p>
          {hasConditions(flow) && (
            <SwitchLine
              label={t('automations.ignoreConditions')}
              on={ignoreConditions}
              onToggle={(on) => {
                setIgnoreConditions(on);
                test.mutate({ flow, ignoreConditions: on });
              }}
            />
          )}
          <ProblemNote error={test.error} />
          {test.data?.steps.length === 0 && <p>{t('automations.test.empty')}</p>}
          <ol className="space-y-2">
            {test.data?.steps.map((step) => (
              <Line key={step.nodeId} step={step} flow={flow} around={around} />
            ))}
          </ol>
        </Dialog>
      )}
    </>
  );
}

function Line({ step, flow, around }: { step: TestStep; flow: Flow; around: Surroundings }) {
  const { t } = useTranslation();
  const data = nodeData(flow, step.nodeId);
  return (
    <StepLine
      tone={tones[step.outcome]}
      words={data === null ? step.kind : nodeWords(around, data)}
      status={t(`automations.test.outcome.${step.outcome}`)}
      seen={seenWords(around, data ?? undefined, step.seen)}
    />
  );
}
