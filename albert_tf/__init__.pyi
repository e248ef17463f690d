"""The public names, for type checkers; `__init__.py` resolves them on first use."""

from albert_tf.checkpoints.huggingface import (
    load_huggingface_checkpoint as load_huggingface_checkpoint,
)
from albert_tf.checkpoints.tf1 import load_tf1_checkpoint as load_tf1_checkpoint
from albert_tf.checkpoints.tf1 import load_tfhub_variables as load_tfhub_variables
from albert_tf.config import AlbertConfig as AlbertConfig
from albert_tf.errors import UserError as UserError
from albert_tf.families.registry import register_model as register_model
from albert_tf.models.albert import AlbertModel as AlbertModel
from albert_tf.models.classification import (
    AlbertForMultipleChoice as AlbertForMultipleChoice,
)
from albert_tf.models.classification import (
    AlbertForSequenceClassification as AlbertForSequenceClassification,
)
from albert_tf.models.classification import (
    AlbertForTokenClassification as AlbertForTokenClassification,
)
from albert_tf.models.pretraining import AlbertForMaskedLM as AlbertForMaskedLM
from albert_tf.models.pretraining import AlbertForPreTraining as AlbertForPreTraining
from albert_tf.models.question_answering import (
    AlbertForAnswerableQuestions as AlbertForAnswerableQuestions,
)
from albert_tf.models.question_answering import (
    AlbertForQuestionAnswering as AlbertForQuestionAnswering,
)
from albert_tf.models.replaced_tokens import (
    AlbertForReplacedTokens as AlbertForReplacedTokens,
)
from albert_tf.models.text_embedding import (
    AlbertForTextEmbedding as AlbertForTextEmbedding,
)
from albert_tf.reranker import Reranker as Reranker
from albert_tf.search_index import SearchIndex as SearchIndex
from albert_tf.serving.predictor import Predictor as Predictor
from albert_tf.text_classifier import TextClassifier as TextClassifier
from albert_tf.text_embedder import TextEmbedder as TextEmbedder
from albert_tf.tokenization import load_tokenizer as load_tokenizer
from albert_tf.xlnet.config import XLNetConfig as XLNetConfig
from albert_tf.xlnet.heads import XLNetForMultipleChoice as XLNetForMultipleChoice
from albert_tf.xlnet.heads import XLNetForQuestionAnswering as XLNetForQuestionAnswering
from albert_tf.xlnet.heads import (
    XLNetForQuestionAnsweringSimple as XLNetForQuestionAnsweringSimple,
)
from albert_tf.xlnet.heads import (
    XLNetForSequenceClassification as XLNetForSequenceClassification,
)
from albert_tf.xlnet.heads import XLNetForTextEmbedding as XLNetForTextEmbedding
from albert_tf.xlnet.heads import (
    XLNetForTokenClassification as XLNetForTokenClassification,
)
from albert_tf.xlnet.model import XLNetLMHeadModel as XLNetLMHeadModel
from albert_tf.xlnet.model import XLNetModel as XLNetModel

__version__: str
