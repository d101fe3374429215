import { Component, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Button } from './button.tsx';
import { Centered } from './centered.tsx';

/** A fault of the page itself. The only class here: React has no other form for it. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { broken: boolean }> {
  override state = { broken: false };

  static getDerivedStateFromError(): { broken: boolean } {
    return { broken: true };
  }

  override render(): ReactNode {
    return this.state.broken ? <Broken /> : this.props.children;
  }
}

function Broken() {
  const { t } = useTranslation();
  return (
    <Centered tone="fault" title={t('app.broken.title')} help={t('app.broken.help')}>
      <Button kind="primary" onClick={() => location.reload()}>
        {t('app.reload')}
      </Button>
    </Centered>
  );
}
