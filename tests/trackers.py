"""The calls of trackers, with what they were given."""

import types


class FakeWandb(types.ModuleType):
    """Stands for `wandb`."""

    def __init__(self):
        super().__init__("wandb")
        self.begun, self.logged, self.ended = [], [], []

    def init(self, **settings):
        self.begun.append(settings)
        run_id = settings["id"] or f"wandb-{len(self.begun)}"
        return types.SimpleNamespace(
            id=run_id,
            log=lambda values, step: self.logged.append((run_id, step, values)),
            finish=lambda exit_code: self.ended.append(exit_code),
        )


class FakeMlflow(types.ModuleType):
    """Stands for `mlflow`."""

    def __init__(self):
        super().__init__("mlflow")
        self.begun, self.settings, self.logged, self.ended = [], [], [], []
        self.end_run, self.log_params = self.ended.append, self.settings.append

    def start_run(self, run_id, run_name):
        self.begun.append((run_id, run_name))
        self.active = run_id or f"mlflow-{len(self.begun)}"
        info = types.SimpleNamespace(run_id=self.active)
        return types.SimpleNamespace(info=info)

    def log_metrics(self, values, step):
        self.logged.append((self.active, step, values))
